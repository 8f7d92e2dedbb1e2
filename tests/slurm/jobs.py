"""Jobs of jobs/train.sbatch on a small real Slurm cluster: jobs.py [TEST ...]

Starts the cluster of cluster.sh and stops it again. CTest runs the first three; `TRIREME_SLURM_ALL=1` runs the rest, too.
Environment: as for tests/run.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "run"))

from harness import TINY, TRIREME, RunTest  # noqa: E402

CLUSTER = Path(tempfile.mkdtemp(prefix="trireme_slurm_", dir="/var/tmp"))
ALL = os.environ.get("TRIREME_SLURM_ALL") == "1"
# Seconds from one line of the metrics to the next, by a disk that is slow: steps of the same length on any machine.
STEP_S = 0.1
DECK = {
    "batch": {"global": 12, "micro": 1},
    "numerics": {"grid_invariant": True, "tensor_slices": 1},
    "checkpoint": {"every_steps": 0, "keep": 3},
}
UNTIL_JOB_ENDS_S = 240


def run(*words, check=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def cluster(*words):
    """Daemons live on: nothing of theirs may hold this process's pipes."""
    with open(CLUSTER / "cluster.log", "ab") as log:
        subprocess.run([HERE / "cluster.sh", *map(str, words)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)


def setUpModule():
    # Where every node sees it, wherever the build lies.
    (CLUSTER / "bin").mkdir()
    shutil.copy(TRIREME, CLUSTER / "bin" / "trireme")
    cluster("start", CLUSTER)
    os.environ["SLURM_CONF"] = str(CLUSTER / "slurm.conf")


def tearDownModule():
    cluster("stop", CLUSTER)
    if os.environ.get("TRIREME_KEEP") != "1":
        shutil.rmtree(CLUSTER, ignore_errors=True)


class JobTest(RunTest):
    def setUp(self):
        super().setUp()
        # Each node has a /tmp of its own.
        self.folder = Path(tempfile.mkdtemp(prefix="jobs_", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.log = self.folder / "job.log"

    def sbatch(self, *words, queue=("sbatch", "--parsable")):
        """What sbatch says, for jobs on one rank a node if not told otherwise."""
        environment = {
            **os.environ,
            "PATH": f"{CLUSTER / 'bin'}:{os.environ['PATH']}",
            "TRIREME_FAULT": f"write:metrics.jsonl:sleep={STEP_S}",
        }
        fixed = ["--ntasks-per-node=1", "--cpus-per-task=1", "--signal=USR1@10", f"--output={self.log}", f"--chdir={self.folder}"]
        done = subprocess.run([*map(str, queue), *fixed, *map(str, words)], env=environment, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def submit(self, deck, *options, words=()):
        """Number of a job of train.sbatch; `options` are sbatch's."""
        return self.sbatch(*options, ROOT / "jobs" / "train.sbatch", deck, *words)

    def state(self, job):
        return run("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T", check=False)

    def wait_for_state(self, job, *states, seconds=UNTIL_JOB_ENDS_S):
        end = time.monotonic() + seconds
        while (state := self.state(job)) not in states:
            self.assertLess(time.monotonic(), end, f"job {job} is {state} after {seconds} s\n{run('sinfo')}\n{run('scontrol', 'show', 'job', job)}\n{self.said()}")
            time.sleep(0.5)
        return state

    def completes(self, job, seconds=UNTIL_JOB_ENDS_S):
        ends = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
        self.assertEqual(self.wait_for_state(job, *ends, seconds=seconds), "COMPLETED", self.said())

    def wait_for_step(self, job, step):
        """Until the job has recorded that step of its run."""
        metrics = self.folder / "run" / "metrics.jsonl"

        def is_there():
            self.assertIn(self.state(job), ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"), self.said())
            return metrics.exists() and len(metrics.read_text().splitlines()) >= step

        self.wait_for(is_there)

    def said(self):
        return self.log.read_text() if self.log.exists() else ""

    def hosts(self, said):
        """What each attempt says of its hosts."""
        return re.findall(r"\d hosts with .*", said)

    def deck_of(self, steps, name):
        return self.deck(TINY, DECK, run={"steps": steps, "output": self.folder / name}, data={"train": [self.rows()]},
                         walltime={"margin_seconds": 40}, name=name)

    def straight(self, steps):
        """The same run by one process without any stop."""
        self.ok(self.trireme("train", self.deck_of(steps, "straight")))
        return self.folder / "straight"

    def attempts(self, run_folder):
        return self.metrics(run_folder)[-1]["attempt"]


class Requeue(JobTest):
    def test_a_job_that_needs_three_allocations_finishes_by_itself(self):
        steps = 400
        job = self.submit(self.deck_of(steps, "run"), "--nodes=2", "--time=1")
        straight = self.straight(steps)
        self.completes(job)
        said = self.said()
        self.assertRegex(said, r"walltime: the job ends in .* \((squeue|SLURM_JOB_END_TIME)\)")
        self.assertGreaterEqual(said.count("stopped by the walltime"), 2, said)
        self.assertGreaterEqual(self.attempts(self.folder / "run"), 3)
        self.assert_same_run(self.folder / "run", straight)

    def test_a_signal_makes_one_save_and_puts_the_job_back(self):
        steps = 100
        job = self.submit(self.deck_of(steps, "run"), "--nodes=2", "--time=5")
        self.wait_for_step(job, 10)
        for _ in range(3):
            run("scancel", "--signal=USR1", job)
        straight = self.straight(steps)
        self.completes(job)
        self.assertEqual(self.said().count("stopped by a signal"), 1)
        self.assertEqual(self.attempts(self.folder / "run"), 2)
        self.assert_same_run(self.folder / "run", straight)

    def test_a_dead_node_costs_what_was_not_saved_and_the_rest_go_on(self):
        steps = 150
        job = self.submit(self.deck_of(steps, "run"), "--nodes=2", "--time=5",
                          words=("checkpoint.every_steps=20",))
        self.wait_for_step(job, 30)
        nodes = run("scontrol", "show", "hostnames", run("squeue", "--noheader", f"--jobs={job}", "--format=%N")).split()
        dead = nodes[-1]
        cluster("kill", CLUSTER, dead[len("node") :])
        self.addCleanup(cluster, "node", CLUSTER, dead[len("node") :])
        straight = self.straight(steps)
        self.completes(job)
        said = self.said()
        self.assertRegex(said, r"going on from step (20|40|60)\b")
        self.assertIn(dead, self.hosts(said)[0])
        self.assertNotIn(dead, self.hosts(said)[1])
        self.assert_same_run(self.folder / "run", straight)


@unittest.skipUnless(ALL, "TRIREME_SLURM_ALL=1 runs it")
class More(JobTest):
    def test_a_cancelled_job_is_saved_and_not_put_back(self):
        deck = self.deck_of(120, "run")
        job = self.submit(deck, "--nodes=2", "--time=5")
        self.wait_for_step(job, 10)
        run("scancel", job)
        self.wait_for_state(job, "CANCELLED", seconds=30)
        self.wait_for(lambda: self.steps(self.folder / "run"))
        self.assertIn("stopped by a signal", self.said())
        self.ok(self.trireme("train", deck))
        self.assert_same_run(self.folder / "run", self.straight(120))

    def test_the_limit_of_slurm_itself_finds_a_saved_run(self):
        """No clock: only the TERM that comes with the limit, five seconds before the KILL."""
        deck = self.deck_of(1200, "run")
        job = self.submit(deck, "--nodes=2", "--time=1", "--signal=TERM@0", words=("walltime.left_command=\"echo 100000\"",))
        self.wait_for_state(job, "TIMEOUT", "COMPLETED", "FAILED", "PENDING", "REQUEUED", seconds=150)
        self.wait_for(lambda: self.steps(self.folder / "run"))
        run("scancel", job, check=False)
        self.assertIn("stopped by a signal", self.said())

    def test_members_of_an_array_are_put_back_alone(self):
        """The second member needs one allocation, the first two."""
        deck = self.deck_of(250, "run")
        (self.folder / "sweep").write_text("".join(
            f"run.output='\"{self.folder}/member_{member}\"' run.steps={steps}\n" for member, steps in ((1, 250), (2, 50))))
        job = self.sbatch("--nodes=1", "--time=1", "--array=1-2", ROOT / "jobs" / "array.sbatch", deck, self.folder / "sweep")
        self.wait_for(lambda: not run("squeue", "--noheader", f"--jobs={job}", check=False), UNTIL_JOB_ENDS_S)
        self.assert_same_run(self.folder / "member_1", self.straight(250))
        self.assertEqual(self.attempts(self.folder / "member_1"), 2)
        self.assertEqual(self.attempts(self.folder / "member_2"), 1)
        self.assertEqual(len(self.metrics(self.folder / "member_2")), 50)

    def test_a_chain_goes_on_without_requeue_on_other_numbers_of_nodes(self):
        steps = 400
        deck = self.deck_of(steps, "run")
        jobs = []
        for nodes in (2, 4, 1, 2):
            after = [f"--dependency=afterany:{jobs[-1]}"] if jobs else []
            chain = [ROOT / "jobs" / "chain.sh", 1, f"--nodes={nodes}", *after]
            jobs += self.sbatch("--time=1", "--", ROOT / "jobs" / "train.sbatch", deck, queue=chain).split()
        self.completes(jobs[-1])
        self.assertEqual(re.findall(r"grid (\dx1x1)", self.said())[:3], ["2x1x1", "4x1x1", "1x1x1"])
        self.assert_same_run(self.folder / "run", self.straight(steps))

    def test_a_chain_that_is_longer_than_the_run_ends_at_once(self):
        deck = self.deck_of(30, "run")
        jobs = self.sbatch("--time=1", "--nodes=2", "--", ROOT / "jobs" / "train.sbatch", deck,
                           queue=[ROOT / "jobs" / "chain.sh", 3]).split()
        self.assertEqual(len(jobs), 3)
        for job in jobs:
            self.completes(job)
        self.assertEqual(len(self.metrics(self.folder / "run")), 30)

    def test_a_preempted_job_goes_on_later(self):
        steps = 150
        job = self.submit(self.deck_of(steps, "run"), "--nodes=4", "--time=5")
        self.wait_for_step(job, 20)
        urgent = run("sbatch", "--parsable", "--partition=urgent", "--nodes=4", "--exclusive", "--output=/dev/null", "--wrap=sleep 3")
        straight = self.straight(steps)
        self.completes(job)
        self.assertEqual(self.state(urgent), "COMPLETED")
        self.assertGreaterEqual(self.attempts(self.folder / "run"), 2)
        self.assert_same_run(self.folder / "run", straight)


if __name__ == "__main__":
    assert re.fullmatch(r"/.*", TRIREME), "TRIREME must be an absolute path"
    unittest.main(verbosity=2)
