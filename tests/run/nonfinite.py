"""Numbers that are not finite: who is named, when a run ends, and what checkpoints never hold; replicas that are compared."""

import h5py
import numpy as np

from grid_runs import GridTest
from harness import TINY, main

DIVERGING = {"optimizer": {"clip_norm": 0}, "learning_rate": {"peak": 1e20, "warmup_steps": 0, "schedule": "constant"}}


class Nonfinite(GridTest):
    def deck_of(self, *decks, **sections):
        return self.deck(TINY, *decks, {"data": {"train": [self.rows()]}, "run": {"output": "unused"},
                                        "checkpoint": {"every_steps": 1}}, **sections)

    def assert_finite_checkpoints(self, run, steps):
        self.assertEqual(self.steps(run), steps)
        for folder in (run / "checkpoints").glob("step_*"):
            with h5py.File(folder / "index.h5") as index:
                names = []
                index["weights"].visititems(lambda name, item: names.append(name) if hasattr(item, "shape") else None)
                self.assertTrue(names)
                for name in names:
                    self.assertTrue(np.isfinite(index["weights"][name][...]).all(), name)

    def test_a_stop_names_rank_part_micro_batch_and_samples(self):
        deck = self.deck_of(DIVERGING)
        for grid in ("1x1x1", "2x2x2"):
            run = f"run_{grid}"
            result = self.refused(self.start_or_go_on(deck, grid, run), "step 2", "not finite", "forward pass",
                                  "on rank 0", "micro-batch 0 of its", "sample", code=4)
            self.assertNotIn("on rank 1", result.out)
            self.assert_finite_checkpoints(self.folder / run, [1])

    def test_the_sample_is_one_of_its_step(self):
        deck = self.deck_of(DIVERGING, metrics={"rows": True}, numerics={"on_nonfinite": "skip"})
        out = self.ok(self.start_or_go_on(deck, "2x1x1", "run", "run.steps=3")).out
        run = self.folder / "run"
        rows = {line["step"]: line["rows"] for line in self.metrics(run)}
        warnings = [line for line in out.splitlines() if "was skipped" in line]
        self.assertEqual(len(warnings), 2)
        for step, line in zip((2, 3), warnings, strict=True):
            self.assertIn(f"step {step} ", line)
            self.assertEqual(int(line.split("sample ")[1].rstrip(")").split(",")[0]), rows[step][0])
        self.assert_finite_checkpoints(run, self.steps(run))

    def test_skipping_ends_when_no_step_is_finite_any_more(self):
        deck = self.deck_of(DIVERGING, numerics={"on_nonfinite": "skip"}, run={"output": "unused", "steps": 200},
                            checkpoint={"every_steps": 50})
        self.refused(self.start_or_go_on(deck, "2x1x1", "run"), "step 102", "101 steps in a row", "on rank 0", code=4)
        self.assert_finite_checkpoints(self.folder / "run", [50, 100])

    def test_an_update_that_leaves_the_range_is_not_saved(self):
        deck = self.deck_of(run={"output": "unused", "steps": 4})
        run = self.train(deck, "2x1x1", "run", "run.steps=2")
        self.refused(self.start_or_go_on(deck, "2x1x1", "run", "learning_rate.peak=1e39", "run.steps=4"), "step 3",
                     "not finite on rank", "weights of `", code=4)
        self.assert_finite_checkpoints(run, [1, 2])

    def test_fp16_overflows_lower_the_loss_scale_and_training_goes_on(self):
        deck = self.deck_of(run={"output": "unused", "steps": 12}, learning_rate={"peak": 1e-3},
                            precision={"compute": "fp16", "loss_scale_initial": 2 ** 24}, checkpoint={"every_steps": 12})
        result = self.ok(self.start_or_go_on(deck, "2x1x1", "run"))
        self.assertNotIn("not finite", result.out)
        last = self.metrics(self.folder / "run")[-1]
        self.assertGreater(last["skipped"], 0)
        self.assertEqual(last["loss_scale"], 2 ** 24 / 2 ** last["skipped"])
        self.assert_finite_checkpoints(self.folder / "run", [12])

    def test_an_audit_of_every_step_finds_nothing_and_changes_nothing(self):
        deck = self.deck_of(run={"output": "unused", "steps": 4})
        for grid in ("4x1x1", "2x2x2"):
            audited = self.train(deck, grid, f"audited_{grid}", "numerics.audit_steps=1", "checkpoint.every_steps=3")
            plain = self.train(deck, grid, f"plain_{grid}", "numerics.audit_steps=0", "checkpoint.every_steps=3")
            self.assert_same_run(audited, plain)


if __name__ == "__main__":
    main()
