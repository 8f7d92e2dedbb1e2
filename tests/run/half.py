"""Training in bf16 and fp16: the same bits on every grid and after every restart, checkpoints that anybody can read."""

import itertools
import re

import h5py
import numpy as np

from grid_runs import INVARIANT, GridTest, size_of
from harness import TINY, main

HALVES = ("bf16", "fp16")
GRIDS = ("2x1x1", "1x2x1", "1x1x2", "2x2x2")

# So large that the first gradients overflow in fp16, and that it moves again soon.
OVERFLOWING = ("precision.loss_scale_initial=16777216", "precision.loss_scale_window=2")


def computing_in(precision):
    return f"precision.compute={precision}"


class Half(GridTest):
    def tiny(self, **sections):
        data = {"train": [self.rows()], "validation": [self.rows("validation", count=7, seed=9)]}
        return self.deck(TINY, INVARIANT, {"model": {"dropout": 0.1}, "run": {"output": "unused", "steps": 6}, "data": data},
                         **sections)

    def newest(self, run):
        return max((self.folder / run / "checkpoints").glob("step_*"))

    def tensors(self, run, group):
        with h5py.File(self.newest(run) / "index.h5") as index:
            return {name: dataset[...] for name, dataset in index[group].items()}

    def test_grids_and_threads_give_the_same_bits(self):
        deck = self.tiny()
        for precision in HALVES:
            one = self.train(deck, "1x1x1", f"{precision}_one", computing_in(precision))
            for grid, threads in itertools.product(("1x1x1", *GRIDS), (1, 2)):
                with self.subTest(precision=precision, grid=grid, threads=threads):
                    name = f"{precision}_{grid}_{threads}"
                    env = {"OMP_NUM_THREADS": str(threads)}
                    self.assert_same_run(one, self.train(deck, grid, name, computing_in(precision), env=env))

    def test_restarts_on_other_grids_leave_no_trace(self):
        deck = self.tiny(checkpoint={"keep": 9}, learning_rate={"decay_steps": 14})
        places = ("1x1x1", "2x1x1", "1x2x2", "1x4x1", "2x1x2", "2x2x2", "1x1x1")
        for precision in HALVES:
            words = [computing_in(precision), *OVERFLOWING]
            straight = self.train(deck, "1x1x1", f"{precision}_straight", "run.steps=14", *words)
            for number, grid in enumerate(places, 1):
                moving = self.train(deck, grid, f"{precision}_moving", f"run.steps={2 * number}",
                                    f"sharding.zero_stage={number % 4}", *words)
            self.assert_same_run(straight, moving)
        lines = self.metrics(straight)
        scales = [line["loss_scale"] for line in lines]
        skipped = [line["skipped"] for line in lines]
        self.assertEqual(scales[0], 16777216)
        self.assertGreater(skipped[-1], 0)
        for before, after in itertools.pairwise(lines):
            halved = before["skipped"] > (lines[before["step"] - 2]["skipped"] if before["step"] > 1 else 0)
            self.assertIn(after["loss_scale"] / before["loss_scale"], (0.5,) if halved else (1, 2))
        self.assertTrue(any(a < b for a, b in itertools.pairwise(scales)), "the loss scale never grew")
        with h5py.File(self.newest(moving) / "index.h5") as index:
            self.assertEqual(index.attrs["skipped"], skipped[-1])

    def test_a_checkpoint_holds_whole_masters_in_fp32(self):
        deck = self.tiny(model={"kv_heads": 2})
        for precision in HALVES:
            self.train(deck, "2x2x1", precision, computing_in(precision), "sharding.zero_stage=3")
            weights = self.tensors(precision, "weights")
            masters = self.tensors(precision, "masters")
            self.assertEqual(weights.keys(), masters.keys())
            for name, values in weights.items():
                self.assertEqual(values.dtype, np.float32, name)
                self.assertTrue(np.isfinite(values).all(), name)
                self.assertEqual(values.tobytes(), masters[name].tobytes(), name)
            up = weights["blocks.0.mlp.up.weight"]
            self.assertEqual(up.shape, (128, 32))
            self.assertFalse(np.array_equal(up, up.astype(np.float16).astype(np.float32)), "masters are not rounded")
            with h5py.File(self.newest(precision) / "index.h5") as index:
                precise = index.attrs["precision"]
                self.assertEqual(precise.decode() if isinstance(precise, bytes) else precise, precision)
            self.ok(self.trireme("checkpoint", "verify", precision))

    def test_a_run_goes_on_in_another_precision_and_says_so(self):
        deck = self.tiny(checkpoint={"keep": 9})
        for first, second in (("bf16", "fp32"), ("fp32", "bf16"), ("fp32", "fp16"), ("fp16", "bf16")):
            with self.subTest(first=first, second=second):
                name = f"{first}_{second}"
                self.train(deck, "2x1x1", name, computing_in(first), "run.steps=3")
                result = self.ok(self.start_or_go_on(deck, "1x2x1", name, computing_in(second)))
                self.assertRegex(result.out, rf"changed.*precision\.compute.*{first}.*{second}")
                straight = self.train(deck, "1x1x1", f"straight_{name}", computing_in(first))
                self.assert_close(self.folder / name, straight, 2e-2)
                self.assertNotEqual(self.even_metrics(self.folder / name)[3:], self.even_metrics(straight)[3:])

    def test_evaluate_and_generate_compute_as_the_run_did(self):
        text = self.folder / "text.txt"
        text.write_text("In the beginning God created the heaven and the earth. " * 60)
        self.ok(self.trireme("prepare", "text.h5", text, "--tokenizer", "byte"))
        deck = self.deck(TINY, INVARIANT, data={"train": [self.folder / "text.h5"], "validation": [self.folder / "text.h5"]},
                         model={"vocab": 256, "context": 32, "kv_heads": 2}, run={"output": "unused", "steps": 40},
                         evaluation={"every_steps": 40, "sequences": 0})
        for precision in HALVES:
            run = self.train(deck, "1x2x2", precision, computing_in(precision))
            said = self.ok(self.trireme("evaluate", run, "text.h5")).out
            loss = float(re.search(r"loss +([0-9.]+)", said)[1])
            self.assertAlmostEqual(loss, self.metrics(run)[-1]["validation_loss"], delta=5e-7)
            for grid in ("2x1x1", "1x2x1", "1x1x4"):
                self.assertEqual(self.ok(self.trireme("evaluate", run, "text.h5", "--grid", grid, ranks=size_of(grid))).out,
                                 said, grid)
            ask = ["generate", precision, "--prompt", "In the", "--tokens", 20, "--temperature", 0]
            words = self.ok(self.trireme(*ask)).out
            self.assertTrue(words.startswith("In the"))
            for grid in ("1x2x1", "1x2x2"):
                self.assertEqual(self.ok(self.trireme(*ask, "--grid", grid, ranks=size_of(grid))).out, words, grid)

    def test_a_loss_scale_that_rounds_is_refused(self):
        self.refused(self.trireme("train", self.tiny(), computing_in("fp16"), "precision.loss_scale_initial=3"),
                     "precision.loss_scale_initial", "3", "use 2 or 4")

    def test_losses_are_those_of_fp32_but_for_rounding(self):
        deck = self.tiny(run={"steps": 20})
        full = self.metrics(self.train(deck, "1x1x1", "fp32"))
        for precision in HALVES:
            for line, expected in zip(self.metrics(self.train(deck, "1x1x1", precision, computing_in(precision))), full,
                                      strict=True):
                self.assertAlmostEqual(line["loss"] / expected["loss"], 1, delta=1e-2, msg=f"{precision} {line['step']}")
                self.assertNotEqual(line["loss"], expected["loss"])

    def test_processors_without_instructions_for_it_compute_it_too(self):
        deck = self.tiny()
        for precision in HALVES:
            fast = self.train(deck, "1x1x1", f"{precision}_fast", computing_in(precision))
            for isa in ("generic", "avx2"):
                words = [computing_in(precision), f"numerics.isa={isa}"]
                one = self.train(deck, "1x1x1", f"{precision}_{isa}", *words)
                self.assert_close(one, fast, 2e-2)
                for grid in ("2x1x1", "1x2x1"):
                    self.assert_same_run(one, self.train(deck, grid, f"{precision}_{isa}_{grid}", *words))


if __name__ == "__main__":
    main()
