"""What a user of grids sees: one line a step, evaluations without a trace, text from any grid, refusals in time."""

import math
import os
import signal

from grid_runs import INVARIANT, GridTest, on_grid, size_of
from harness import ODD, TINY, main


class GridCommands(GridTest):
    def test_one_finite_line_a_logged_step_on_every_grid(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "unused", "steps": 7})
        one = self.metrics(self.train(deck, "1x1x1", "one"))
        for grid, every, logged in (("1x1x4", 1, [*range(1, 8)]), ("1x2x2", 3, [3, 6, 7]), ("2x2x2", 3, [3, 6, 7])):
            run = self.train(deck, grid, f"run_{grid}", f"metrics.every_steps={every}")
            lines = self.metrics(run)
            self.assertEqual([line["step"] for line in lines], logged)
            for line in lines:
                self.assertTrue(all(math.isfinite(v) for v in line.values() if not isinstance(v, str)), line)
                self.assertAlmostEqual(line["loss"], one[line["step"] - 1]["loss"], delta=1e-4)
            self.assertEqual(len((run / "grid.tsv").read_text().splitlines()), size_of(grid) + 1)

    def test_evaluation_leaves_no_trace_and_is_equal_on_every_grid(self):
        deck = self.deck(TINY, INVARIANT, model={"dropout": 0.1}, run={"output": "unused", "steps": 6},
                         data={"train": [self.rows()], "validation": [self.rows("validation", count=7, seed=9)]})
        plain = self.train(deck, "1x1x1", "plain")
        seen = {}
        for grid, zero, every in (("1x1x1", 1, 2), ("2x1x2", 3, 2), ("1x2x2", 0, 3), ("1x4x1", 1, 2), ("2x2x2", 2, 3)):
            run = self.train(deck, grid, f"run_{grid}", f"evaluation.every_steps={every}", f"sharding.zero_stage={zero}",
                             "checkpoint.every_steps=2")
            lines = self.even_metrics(run)
            losses = {line["step"]: line.pop("validation_loss") for line in lines if "validation_loss" in line}
            self.assertEqual(list(losses), list(range(every, 7, every)))
            self.assertEqual(lines, self.even_metrics(plain))
            self.ok(self.trireme("checkpoint", "diff", plain, run))
            for step, loss in losses.items():
                self.assertEqual(seen.setdefault(step, loss), loss, f"{grid} step {step}")

    def test_text_and_losses_of_a_checkpoint_are_the_same_on_every_grid(self):
        text = self.folder / "text.txt"
        text.write_text("In the beginning God created the heaven and the earth. " * 60)
        self.ok(self.trireme("prepare", "text.h5", text, "--tokenizer", "byte"))
        deck = self.deck(TINY, data={"train": [self.folder / "text.h5"]}, run={"output": "unused", "steps": 40},
                         model={"vocab": 256, "context": 32, "kv_heads": 2})
        self.train(deck, "1x2x2", "run")
        ask = ["generate", "run", "--prompt", "In the", "--tokens", 40, "--temperature", 0]
        said = self.ok(self.trireme(*ask)).out
        self.assertTrue(said.startswith("In the"))
        drawn = self.ok(self.trireme(*ask[:-1], 0.8, "--seed", 3)).out
        for grid in ("1x2x2", "1x4x1", "1x1x4", "2x2x1"):
            ranks = size_of(grid)
            self.assertEqual(self.ok(self.trireme(*ask, "--grid", grid, ranks=ranks)).out, said, grid)
            self.assertEqual(self.ok(self.trireme(*ask[:-1], 0.8, "--seed", 3, "--grid", grid, ranks=ranks)).out, drawn, grid)
        self.assertEqual(self.ok(self.trireme(*ask, ranks=2)).out, said)
        alone = self.ok(self.trireme("evaluate", "run", "text.h5")).out
        for grid in ("1x2x2", "2x1x2", "1x4x1", "4x1x1"):
            self.assertEqual(self.ok(self.trireme("evaluate", "run", "text.h5", "--grid", grid, ranks=size_of(grid))).out,
                             alone, grid)

    def test_a_grid_that_does_not_fit_the_ranks_is_one_message_in_time(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run"})
        for ranks in (1, 7, 16):
            self.refused_in_time(self.training_of(deck, "2x2x2", ranks), "2x2x2", "8", str(ranks), "use")
        self.refused_in_time(self.training_of(deck, "0x0x1", 4), "grid.data", "grid.tensor")
        self.refused_in_time(self.training_of(deck, "-1x2x2", 4), "grid.data", "-1")
        self.ok(self.trireme("train", deck, "run.steps=1", "grid.pipeline=2", ranks=4))
        self.assertEqual(len((self.folder / "run/grid.tsv").read_text().splitlines()), 5)
        generate, evaluate = ["generate", "run", "--prompt", "a"], ["evaluate", "run", "train.h5"]
        for command, grid, part in ((generate, "2x2x2", "2x2x2"), (generate, "axb", "grid"),
                                    (evaluate, "1x3x1", "model.heads"), (evaluate, "1x1x5", "1x1x5")):
            self.refused_in_time(lambda c=command, g=grid: self.trireme(*c, "--grid", g, ranks=3), part)

    def test_a_grid_that_does_not_fit_the_model_is_refused_by_name(self):
        data = {"train": [self.rows(vocab=96)]}
        deck = self.deck(ODD, data=data, run={"output": "run"})
        for grid, words, parts in (
                ("1x4x1", [], ("grid.tensor", "model.heads", "6")),
                ("1x1x4", ["model.layers=3"], ("grid.pipeline", "model.layers", "3")),
                ("1x1x2", ["pipeline.layers_per_stage=[2,2]"], ("pipeline.layers_per_stage", "model.layers")),
                ("3x1x1", [], ("batch.global", "8")),
                ("2x1x1", ["batch.micro=8"], ("batch.micro",)),
                ("4x1x1", ["sharding.group=3"], ("sharding.group", "grid.data")),
                ("2x1x1", ["sharding.group=2", "sharding.zero_stage=0"], ("sharding.group", "sharding.zero_stage")),
                ("1x1x2", ["pipeline.chunks=2"], ("pipeline.chunks", "pipeline.schedule")),
                ("1x2x1", ["numerics.tensor_slices=3"], ("numerics.tensor_slices", "grid.tensor")),
                ("1x1x2", ["recompute.mode=full", "recompute.layers=[5]"], ("recompute.layers", "model.layers"))):
            self.refused_in_time(self.training_of(deck, grid, size_of(grid), *words), *parts)
        self.assertFalse((self.folder / "run/checkpoints").exists())

    def training_of(self, deck, grid, ranks, *words):
        return lambda: self.trireme("train", deck, *on_grid(grid), *words, ranks=ranks)

    def refused_in_time(self, call, *parts):
        with self.subTest(parts=parts), self.within(5, "a refusal"):
            self.refused(call(), *parts)

    def test_numbers_that_are_not_finite_end_all_ranks_alike(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "unused", "steps": 30},
                         optimizer={"clip_norm": 0}, checkpoint={"every_steps": 1},
                         learning_rate={"peak": 1e20, "warmup_steps": 0, "schedule": "constant"})
        with self.within(15, "the end of all ranks"):
            self.refused(self.start_or_go_on(deck, "2x2x2", "stopped"), "not finite", "step", code=4)
        skipping = self.train(deck, "2x1x2", "skipping", "numerics.on_nonfinite=skip", "run.steps=4")
        self.assertGreater(self.metrics(skipping)[-1]["skipped"], 0)

    def test_a_signal_to_one_rank_of_a_grid_saves_once(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run", "steps": 1000000})
        process = self.start("train", deck, *on_grid("2x2x2"), ranks=8)
        metrics = self.folder / "run/metrics.jsonl"
        self.wait_for(lambda: metrics.exists() and metrics.stat().st_size > 2000)
        for _ in range(50):
            os.kill(self.ranks_of(process)[3], signal.SIGUSR1)
        self.ok(self.finish(process), 75)
        self.assertEqual(len(self.steps(self.folder / "run")), 1)


if __name__ == "__main__":
    main()
