"""Traced runs: `numerics.trace` and tools/compare_fingerprints.py find where two runs part."""

import subprocess
import sys
import unittest
from pathlib import Path

from harness import TINY, Result, RunTest, main

TOOL = Path(__file__).resolve().parent.parent.parent / "tools" / "compare_fingerprints.py"


class FingerprintsTest(RunTest):
    def run_of(self, name, *overrides, ranks=0, code=0):
        deck = self.deck(TINY, run={"steps": 6, "output": name}, data={"train": [self.rows()]},
                         numerics={"grid_invariant": True, "trace": True}, name=name)
        self.ok(self.trireme("train", deck, *overrides, ranks=ranks), code)
        return self.folder / name

    def compared(self, run, other):
        done = subprocess.run([sys.executable, TOOL, run, other], capture_output=True, text=True, check=False)
        return Result(done.returncode, done.stdout + done.stderr)

    def test_grids_and_restarts_have_the_same(self):
        one = self.run_of("one")
        self.assertEqual(len(list((one / "fingerprints").iterdir())), 6)
        many = self.run_of("many", "grid.tensor=2", "pipeline.schedule=\"zero_bubble\"", "grid.pipeline=2", ranks=4)
        self.assertIn("equal: 6 steps, 1 to 6", self.ok(self.compared(one, many)).out)
        stopped = self.run_of("stopped", "run.steps=3", "learning_rate.decay_steps=6")
        self.run_of("stopped", "learning_rate.decay_steps=6", ranks=2)
        self.assertIn("equal", self.ok(self.compared(self.run_of("straight", "learning_rate.decay_steps=6"), stopped)).out)

    def test_the_first_difference_is_named(self):
        one = self.run_of("one")
        decayed = self.run_of("decayed", "optimizer.weight_decay=0.2")
        result = self.ok(self.compared(one, decayed), 1)
        self.assertRegex(result.out, r"part in step 1: weight embedding\.token\.weight\n.*equal up to step 1, norm norm")
        seeded = self.run_of("seeded", "run.seed=2")
        self.assertIn("part in step 1: forward embedding", self.ok(self.compared(one, seeded), 1).out)

    def test_runs_that_cannot_be_compared_are_refused(self):
        one = self.run_of("one")
        self.assertIn("was not traced", self.ok(self.compared(one, self.folder), 2).out)
        other = self.run_of("other", "model.layers=2")
        self.assertIn("different models", self.ok(self.compared(one, other), 2).out)


if __name__ == "__main__":
    main()
