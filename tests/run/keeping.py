"""When checkpoints are saved, which are kept, and what is remembered of earlier attempts."""

import csv
import os
import shutil
import signal

from harness import TINY, RunTest, main


class Keeping(RunTest):
    def attempts(self):
        """The lines of attempts.tsv, each as a dictionary."""
        with open(self.folder / "run/attempts.tsv", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    def wait_for_save(self):
        self.wait_for(lambda: self.steps(self.folder / "run"))

    def test_saves_by_the_clock(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run", "steps": 400},
                         checkpoint={"every_minutes": 0.002, "keep": 1000})
        for ranks in (1, 2):
            said = self.ok(self.trireme("train", deck, ranks=ranks)).out
            self.assertGreater(len(self.steps(self.folder / "run")), 2, said)
            self.assertLess(len(self.steps(self.folder / "run")), 200, said)
            shutil.rmtree(self.folder / "run")

    def test_the_interval_follows_from_cost_and_failures(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run", "steps": 400},
                         checkpoint={"every_minutes": "auto", "failures_per_day": 1e6, "keep": 1000})
        said = self.ok(self.trireme("train", deck, ranks=2)).out
        self.assertIn("a save (assumed) x 0.0864 s between failures) (Young 1974)", said)
        self.assertIn("failures: `checkpoint.failures_per_day`", said)
        self.assertGreater(len(self.steps(self.folder / "run")), 2, said)
        self.assertLess(len(self.steps(self.folder / "run")), 200, said)
        # A save that costs much more is told, and makes the interval longer.
        said = self.ok(self.trireme("train", deck, "run.steps=800", ranks=2,
                                    env={"TRIREME_FAULT": "fsync:shard_00000:sleep=0.3"})).out
        self.assertRegex(said, r"sqrt\(2 x 0\.[0-9]+ s a save x")
        self.assertLess(len([step for step in self.steps(self.folder / "run") if step > 400]), 20, said)

    def test_attempts_that_were_cut_count_as_failures(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run", "steps": 1000000},
                         checkpoint={"every_minutes": "auto", "every_steps": 50})
        process = self.start("train", deck, ranks=2)
        self.wait_for_save()
        self.kill(process)
        self.finish(process)
        self.assertEqual([line["end"] for line in self.attempts()], ["running"])
        first = self.steps(self.folder / "run")[-1]
        process = self.start("train", deck, ranks=2)
        self.wait_for(lambda: self.steps(self.folder / "run")[-1] > first)
        os.kill(self.ranks_of(process)[0], signal.SIGTERM)
        said = self.ok(self.finish(process), 75).out
        self.assertRegex(said, "failures: 1 in [0-9.e-]+ host-days of this run, and the published 1 in 264 host-days")
        last = self.steps(self.folder / "run")[-1]
        self.ok(self.trireme("train", deck, f"run.steps={last + 1}"))
        self.assertEqual([line["end"] for line in self.attempts()], ["cut", "a signal", "finished"])
        self.assertEqual([line["attempt"] for line in self.attempts()], ["1", "2", "3"])
        self.assertEqual([int(line["last_step"]) for line in self.attempts()], [first, last, last + 1])
        self.assertGreater(float(self.attempts()[0]["ran_s"]), 0)

    def test_a_request_that_fails_is_kept_for_the_next_save(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run", "steps": 8},
                         checkpoint={"every_steps": 6, "keep": 10})
        (self.folder / "run").mkdir()
        (self.folder / "run/save").touch()
        said = self.ok(self.trireme("train", deck, ranks=2,
                                    env={"TRIREME_FAULT": "pwrite:staging_00000001:28:0"})).out
        self.assertEqual(said.count("warning: step 1 was not saved"), 1, said)
        self.assertEqual(self.steps(self.folder / "run"), [6, 8])
        self.assertFalse((self.folder / "run/save").exists())


if __name__ == "__main__":
    main()
