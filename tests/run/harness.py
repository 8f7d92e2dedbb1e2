"""What the tests of the executable share: small decks and datasets, runs with a time limit, and their files.

Environment: TRIREME (the executable), TRIREME_MPIEXEC (the launcher, as a list of words). CTest sets both.
"""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

TRIREME = os.environ["TRIREME"]
MPIEXEC = shlex.split(os.environ.get("TRIREME_MPIEXEC", "mpirun"))

# The decks of the scenarios: TINY divides evenly everywhere, ODD nowhere.
TINY = {
    "model": {"layers": 4, "width": 32, "heads": 4, "context": 16, "vocab": 96},
    "batch": {"global": 8, "micro": 1},
    "run": {"steps": 20, "seed": 1},
    "optimizer": {"clip_norm": 1.0},
    "learning_rate": {"peak": 1e-2, "warmup_steps": 3, "schedule": "cosine"},
}
ODD = {
    **TINY,
    "model": {"layers": 5, "width": 36, "heads": 6, "context": 16, "vocab": 97},
}

# After so long without an end a process hangs: far above what any run here takes, also on a slow machine.
HANG_S = 120
# A small job of two ranks, from launch to exit, on an idle machine.
IDLE_JOB_S = 0.4

# What a run says of time and place; all else must be equal between two grids.
UNEVEN_METRICS = {"step_time_s", "tokens_per_s", "mfu", "memory_bytes", "attempt"}


def toml_value(value):
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(v) for v in value) + "]"
    if isinstance(value, (str, Path)):
        return json.dumps(str(value))
    return repr(value)


def merged(*decks):
    """Decks laid over each other, section by section; the last wins."""
    result = {}
    for deck in decks:
        for section, keys in deck.items():
            result[section] = {**result.get(section, {}), **keys}
    return result


class Result:
    """A finished process: code, out (standard output and error together)."""

    def __init__(self, code, out):
        self.code = code
        self.out = out


class RunTest(unittest.TestCase):
    """A test with a folder of its own."""

    slowness_at_start = None  # measured once a process, when a test first judges a time

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="trireme_"))
        self.program = TRIREME
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    # Time

    def slowness(self):
        """How many times longer than on an idle machine a small job takes now; at least 1."""
        text = self.folder / "small.txt"
        text.write_text("a small job")
        began = time.monotonic()
        self.ok(self.trireme("prepare", "small.h5", text, "--tokenizer", "byte", ranks=2))
        took = time.monotonic() - began
        (self.folder / "small.h5").unlink()
        return max(1.0, took / IDLE_JOB_S)

    @contextlib.contextmanager
    def within(self, idle_s, what=""):
        """The block ends in `idle_s` seconds; on a slow machine in as many times more as a small job takes there."""
        if RunTest.slowness_at_start is None:
            RunTest.slowness_at_start = self.slowness()
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        if took >= idle_s:
            allowed_s = idle_s * max(RunTest.slowness_at_start, self.slowness())
            self.assertLess(took, allowed_s, f"{what} took too long")

    def wait_for(self, condition, seconds=HANG_S):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "nothing happened")
            time.sleep(0.02)

    # Inputs

    def ids(self, name, tokens, vocab, mask=None, extra=()):
        """A dataset of ready ids."""
        numbers = self.folder / f"{name}.npy"
        np.save(numbers, np.asarray(tokens, dtype=np.int32))
        output = self.folder / f"{name}.h5"
        words = ["prepare", output, numbers, "--tokenizer", "ids", "--vocab", vocab, *extra]
        if mask is not None:
            mask_file = self.folder / f"{name}_mask.npy"
            np.save(mask_file, np.asarray(mask, dtype=np.uint8))
            words += ["--mask", mask_file]
        self.ok(self.trireme(*words))
        return output

    def rows(self, name="train", count=40, context=16, vocab=96, seed=7):
        """`count` samples of random tokens; made once a test."""
        made = self.folder / f"{name}.h5"
        if made.exists():
            return made
        generator = np.random.default_rng(seed)
        return self.ids(name, generator.integers(0, vocab, count * context + 1), vocab)

    def deck(self, *decks, name="deck", **sections):
        """Writes decks laid over each other as one file."""
        path = self.folder / f"{name}.toml"
        lines = []
        for section, keys in merged(*decks, sections).items():
            lines.append(f"[{section}]")
            lines += [f"{key} = {toml_value(value)}" for key, value in keys.items()]
        path.write_text("\n".join(lines) + "\n")
        return path

    # Processes

    def command(self, words, ranks):
        launcher = [*MPIEXEC, "-n", str(ranks)] if ranks else []
        return [*launcher, self.program, *map(str, words)]

    def environment(self, env):
        return {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}

    def on_rank(self, rank, **variables):
        """Makes later runs start through a script that sets these variables on one rank only."""
        script = self.folder / "one_rank.sh"
        lines = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())
        script.write_text(f"""#!/bin/sh
if [ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = {rank} ]; then
{lines}
fi
exec {TRIREME} "$@"
""")
        script.chmod(0o755)
        self.program = str(script)

    def trireme(self, *words, ranks=0, env=None, timeout=HANG_S):
        """Runs to the end; a hang is a failure."""
        process = self.start(*words, ranks=ranks, env=env)
        return self.finish(process, timeout)

    def start(self, *words, ranks=0, env=None):
        return subprocess.Popen(self.command(words, ranks), env=self.environment(env), cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                start_new_session=True)

    def finish(self, process, timeout=HANG_S):
        try:
            out, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill(process)
            out, _ = process.communicate()
            self.fail(f"no end after {timeout} s: {process.args}\n{out}")
        return Result(process.returncode, out)

    def kill(self, process, number=signal.SIGKILL):
        """The signal to the launcher and all its ranks, which have process groups of their own."""
        for pid in [process.pid, *self.ranks_of(process)]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def ranks_of(self, process):
        """Process ids of the ranks under a launcher, in the order of their start."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].decode() == TRIREME and is_under(int(entry.name), process.pid):
                found.append(int(entry.name))
        return sorted(found)

    # Judgements

    def ok(self, result, code=0):
        self.assertEqual(result.code, code, result.out)
        return result

    def refused(self, result, *parts, code=2):
        """One message, with these parts, and the exit code."""
        self.assertEqual(result.code, code, result.out)
        for part in parts:
            self.assertIn(part, result.out)
        self.assertEqual(result.out.count("error: "), 1, result.out)
        return result

    def metrics(self, run):
        """The lines of metrics.jsonl; each step must stand once, in order."""
        lines = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
        steps = [line["step"] for line in lines]
        self.assertEqual(steps, sorted(set(steps)))
        return lines

    def even_metrics(self, run):
        return [{k: v for k, v in line.items() if k not in UNEVEN_METRICS} for line in self.metrics(run)]

    def assert_same_run(self, run, other):
        """Metrics and newest checkpoints are equal bit for bit."""
        self.assertEqual(self.even_metrics(run), self.even_metrics(other))
        self.ok(self.trireme("checkpoint", "diff", run, other))

    def assert_close(self, run, other, relative=1e-5):
        for a, b in zip(self.metrics(run), self.metrics(other), strict=True):
            for key in ("loss", "grad_norm"):
                self.assertLessEqual(abs(a[key] - b[key]), relative * max(abs(a[key]), 1e-12), f"step {a['step']} {key}")

    def steps(self, run):
        """Steps of the committed checkpoints of a run."""
        folder = Path(run) / "checkpoints"
        return sorted(int(p.name[5:]) for p in folder.glob("step_*") if p.is_dir())


def is_under(pid, ancestor):
    """True when `ancestor` is among the parents of `pid`."""
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        pid = int(stat.rpartition(")")[2].split()[1])
    return False


def main():
    unittest.main(verbosity=2)
