"""kill -9 at any moment: what is committed stays, the rest never was."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

from harness import TINY, RunTest, main


class Killing(RunTest):
    def test_twenty_kills_of_all_ranks_end_in_the_same_bits(self):
        data = self.rows()
        steps = 400
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "unused", "steps": steps},
                         model={"dropout": 0.1}, checkpoint={"every_steps": 1, "keep": 2})
        self.ok(self.trireme("train", deck, "run.output=straight", ranks=2))
        chance = random.Random(11)
        slowness = self.slowness()
        kills = last = 0
        while kills < 20:
            process = self.start("train", deck, "run.output=killed", ranks=2)
            time.sleep(chance.uniform(0.05, 2.0) * slowness)
            if process.poll() is not None:
                self.finish(process)
                break
            self.kill(process)
            self.finish(process)
            kills += 1
            steps_there = self.steps(self.folder / "killed")
            self.assertGreaterEqual(max(steps_there, default=0), last, "a committed checkpoint was lost")
            last = max(steps_there, default=0)
        self.ok(self.trireme("train", deck, "run.output=killed", ranks=2))
        self.assert_same_run(self.folder / "straight", self.folder / "killed")
        left = [p.name for p in (self.folder / "killed/checkpoints").iterdir() if not p.name.startswith("step_")]
        self.assertEqual([name for name in left if not name.startswith("damaged_")], [])

    def test_one_killed_rank_ends_all(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 100000},
                         checkpoint={"every_steps": 50})
        process = self.start("train", deck, ranks=4)
        self.wait_for(lambda: self.steps(self.folder / "run"))
        with self.within(15):
            os.kill(self.ranks_of(process)[-1], signal.SIGKILL)
            self.assertNotEqual(self.finish(process).code, 0)
        step = max(self.steps(self.folder / "run"))
        self.ok(self.trireme("train", deck, f"run.steps={step + 1}", ranks=4))

    def test_a_signal_makes_one_checkpoint_and_exit_code_75(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 1000000})
        for ranks, burst in ((2, 1), (4, 50)):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            process = self.start("train", deck, ranks=ranks)
            self.wait_for(lambda: (self.folder / "run/metrics.jsonl").exists() and
                          len((self.folder / "run/metrics.jsonl").read_text()) > 1000)

            victim = self.ranks_of(process)[-1]
            for _ in range(burst):
                os.kill(victim, signal.SIGUSR1)
            self.ok(self.finish(process), 75)
            self.assertEqual(len(self.steps(self.folder / "run")), 1)

    def test_a_signal_while_the_run_starts_is_kept_for_its_first_step(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 1000000})
        for delay in (0, 0.05, 0.1, 0.2):
            for number in (signal.SIGUSR1, signal.SIGTERM):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                process = self.start("train", deck, ranks=2)
                self.wait_for(lambda: any(catches(pid, number) for pid in self.ranks_of(process)))
                time.sleep(delay)
                victim = next(pid for pid in self.ranks_of(process) if catches(pid, number))
                os.kill(victim, number)
                result = self.ok(self.finish(process), 75)
                self.assertIn("stopped by a signal", result.out)
                self.assertEqual(len(self.steps(self.folder / "run")), 1)

    def test_a_marker_never_stands_before_the_last_shard(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 8},
                         checkpoint={"every_steps": 4})
        process = self.start("train", deck, ranks=4, env={"TRIREME_FAULT": "fsync:shard_00003:sleep=60:1"})
        self.wait_for(lambda: any((self.folder / "run/checkpoints").glob(".staging*8.*/shard_00002.h5")))
        time.sleep(0.5)
        self.assertEqual(self.steps(self.folder / "run"), [4])
        self.kill(process)
        self.finish(process)
        self.assertIn("going on from step 4", self.ok(self.trireme("train", deck, ranks=4)).out)


def catches(pid, number):
    """True when the process has a handler for the signal."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1 == 1


if __name__ == "__main__":
    main()
