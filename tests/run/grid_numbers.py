"""What the tensor and pipeline axes must not change: sizes that do not divide, unequal batches, every schedule."""

import math
import os
import random
import signal
import subprocess
import time

import h5py
import numpy as np

from grid_runs import INVARIANT, GridTest, on_grid, size_of
from harness import ODD, TINY, main

SCHEDULES = ("naive", "gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_h2")
SHORT = {"run": {"output": "unused", "steps": 3}}


class GridNumbers(GridTest):
    def test_a_vocabulary_that_no_tensor_axis_divides(self):
        data = {"train": [self.rows(count=37, vocab=97)]}
        for tied, grids in ((True, ("1x2x1", "1x3x2")), (False, ("1x6x1", "1x3x1"))):
            deck = self.deck(ODD, SHORT, data=data, model={"tied_embeddings": tied})
            one = self.assert_all_close(deck, grids, "run.steps=6", name=f"tied_{tied}")
            self.assertAlmostEqual(self.metrics(one)[0]["loss"], math.log(97), delta=0.05)
            with h5py.File(self.folder / f"tied_{tied}_{grids[-1]}/checkpoints/step_00000006/index.h5") as index:
                self.assertEqual(index["weights/embedding.token.weight"].shape, (97, 36))
                self.assertEqual("head.weight" in index["weights"], not tied)

    def test_a_slice_without_a_row_of_the_vocabulary(self):
        three = {"layers": 2, "width": 8, "heads": 4, "context": 16, "vocab": 3}
        for tied in (True, False):
            deck = self.deck(TINY, SHORT, INVARIANT, data={"train": [self.rows("three", vocab=3)]},
                             model={**three, "tied_embeddings": tied})
            one = self.assert_all_same(deck, ("1x2x1", "1x2x2"), name=f"three_{tied}")
            self.assertAlmostEqual(self.metrics(one)[0]["loss"], math.log(3), delta=0.05)

    def test_a_whole_rank_without_a_row_of_the_vocabulary(self):
        three = {"layers": 2, "width": 8, "heads": 4, "context": 16, "vocab": 3}
        deck = self.deck(TINY, SHORT, INVARIANT, data={"train": [self.rows("three", vocab=3)]}, model=three)
        self.assert_all_same(deck, ("1x4x1", "1x4x2"))

    def test_fewer_key_value_heads_than_tensor_ranks(self):
        for kv_heads in (1, 2):
            deck = self.deck(TINY, SHORT, INVARIANT, data={"train": [self.rows()]}, optimizer={"clip_norm": 0.5},
                             model={"kv_heads": kv_heads, "position": "rotary", "norm": "rmsnorm", "bias": "qkv",
                                    "activation": "swiglu", "mlp_width": 88})
            self.assert_all_same(deck, ("1x4x1", "2x2x2"), name=f"kv_{kv_heads}")

    def test_layers_that_do_not_divide_by_the_stages_are_all_there(self):
        for layers, grids in ((5, ("1x1x2", "1x1x3")), (7, ("1x1x4",)), (10, ("1x2x3",))):
            deck = self.deck(TINY, SHORT, INVARIANT, data={"train": [self.rows()]}, model={"layers": layers})
            self.assert_all_same(deck, grids, name=f"layers_{layers}")
            for grid in grids:
                listed = self.layers_in_table(self.folder / f"layers_{layers}_{grid}")
                self.assertEqual(sorted(set(listed)), list(range(layers)))
                self.assertEqual(len(listed), layers * size_of(grid) // int(grid[-1]))

    def layers_in_table(self, run):
        """The blocks of all ranks, from the table of the run folder."""
        head, *lines = [line.split("\t") for line in (run / "grid.tsv").read_text().splitlines()]
        blocks = []
        for line in lines:
            for part in dict(zip(head, line, strict=True))["layers"].split(", "):
                first, _, last = part.partition("-")
                blocks += range(int(first), int(last or first) + 1)
        return blocks

    def test_the_first_and_the_last_stage_may_be_without_a_block(self):
        deck = self.deck(TINY, SHORT, INVARIANT, data={"train": [self.rows()]}, model={"layers": 3})
        self.train(deck, "1x1x1", "one")
        for stages, blocks in ((4, [0, 2, 1, 0]), (3, [0, 3, 0])):
            grid = f"1x1x{stages}"
            self.assert_same_run(self.folder / "one",
                                 self.train(deck, grid, f"stages_{stages}", f"pipeline.layers_per_stage={blocks}"))

    def test_fewer_micro_batches_than_stages_in_every_schedule(self):
        deck = self.deck(TINY, SHORT, INVARIANT, data={"train": [self.rows()]}, batch={"global": 2},
                         model={"layers": 8, "dropout": 0.1})
        one = self.train(deck, "1x1x1", "one")
        for schedule in SCHEDULES:
            chunks = 2 if schedule == "interleaved" else 1
            self.assert_same_run(one, self.train(deck, "1x1x4", schedule, f"pipeline.schedule={schedule}",
                                                 f"pipeline.chunks={chunks}"))

    def test_no_schedule_relies_on_messages_that_are_buffered(self):
        deck = self.deck(TINY, SHORT, INVARIANT, model={"context": 64, "width": 64}, run={"steps": 2},
                         data={"train": [self.rows(context=64)], "validation": [self.rows("validation", context=64, count=5)]},
                         evaluation={"every_steps": 1}, checkpoint={"every_steps": 1})
        one = self.train(deck, "1x1x1", "one")
        never_eager = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_eager_limit": "128", "OMPI_MCA_pml": "ob1"}
        in_pieces = {"OMPI_MCA_btl_vader_eager_limit": "128", "TRIREME_MAX_MESSAGE_BYTES": "5000"}
        for schedule, grid, env in (("1f1b", "2x1x2", in_pieces),
                                    ("interleaved", "2x1x2", never_eager), ("zero_bubble", "1x1x4", never_eager),
                                    ("gpipe", "1x2x2", never_eager), ("zero_bubble_h2", "2x2x2", in_pieces)):
            chunks = 2 if schedule == "interleaved" else 1
            with self.subTest(schedule=schedule, grid=grid):
                self.assert_same_run(one, self.train(deck, grid, f"{schedule}_{grid}", f"pipeline.schedule={schedule}",
                                                     f"pipeline.chunks={chunks}", env=env))

    def test_any_split_of_the_batch_under_a_pipeline_gives_the_same_training(self):
        deck = self.deck(TINY, SHORT, data={"train": [self.rows()]}, run={"steps": 5})
        one = self.train(deck, "1x1x1", "one", "batch.micro=8")
        for micro, data, zero in ((8, 1, 0), (4, 1, 3), (1, 1, 2), (1, 2, 1), (2, 4, 2), (1, 4, 3)):
            self.assert_close(one, self.train(deck, f"{data}x1x2", f"micro_{micro}_{data}", f"batch.micro={micro}",
                                              f"sharding.zero_stage={zero}"))

    def test_the_loss_is_weighted_by_counted_tokens_on_every_grid(self):
        counts = [15, 3, 9, 1, 16, 2, 0, 7]
        tokens = np.random.default_rng(5).integers(0, 96, len(counts) * 16 + 1)
        mask = np.zeros(len(tokens), dtype=np.uint8)
        for sample, count in enumerate(counts):
            mask[sample * 16 + 1:sample * 16 + 1 + count] = 1
        deck = self.deck(TINY, SHORT, data={"train": [self.ids("train", tokens, 96, mask=mask)]})
        self.assert_all_close(deck, ("1x1x4", "2x2x2", "8x1x1"))
        self.assertEqual(self.metrics(self.folder / "run_2x2x2")[0]["tokens"], sum(counts))
        empty = self.deck(TINY, SHORT, data={"train": [self.ids("empty", tokens, 96, mask=np.zeros(len(tokens)))]})
        for line in self.metrics(self.train(empty, "2x2x2", "empty")):
            self.assertEqual((line["loss"], line["grad_norm"], line["tokens"]), (0, 0, 0))

    def test_the_gradient_norm_counts_replicas_once(self):
        data = {"train": [self.rows()]}
        for tied, clip, zero in ((True, 0.5, 2), (False, 1e9, 3)):
            deck = self.deck(TINY, SHORT, data=data, optimizer={"clip_norm": clip}, run={"steps": 2},
                             model={"tied_embeddings": tied, "kv_heads": 1}, sharding={"zero_stage": zero})
            self.assert_all_close(deck, ("1x4x1", "2x2x2"), name=f"tied_{tied}", relative=1e-6)

    def test_first_weights_do_not_depend_on_the_grid(self):
        for name, sizes, grids in (("tiny", TINY, ("2x2x2", "1x4x1")), ("odd", ODD, ("1x3x2", "1x1x5"))):
            data = {"train": [self.rows(name, vocab=sizes["model"]["vocab"])]}
            deck = self.deck(sizes, SHORT, data=data, run={"steps": 0}, name=name)
            one = self.train(deck, "1x1x1", f"{name}_one")
            for grid in grids:
                self.ok(self.trireme("checkpoint", "diff", one, self.train(deck, grid, f"{name}_{grid}")))

    def test_many_equal_rows_have_the_gradient_of_one(self):
        row = np.random.default_rng(8).integers(0, 96, 16)
        data = {"train": [self.ids("train", np.concatenate([np.tile(row, 512), row[:1]]), 96)]}
        deck = self.deck(TINY, data=data, run={"output": "unused", "steps": 1})
        one = self.metrics(self.train(deck, "1x1x1", "one", "batch.global=1"))[0]
        for grid, zero in (("1x1x2", 1), ("8x1x1", 2), ("2x2x2", 3)):
            many = self.metrics(self.train(deck, grid, f"many_{grid}", "batch.global=512", f"sharding.zero_stage={zero}"))[0]
            for key in ("loss", "grad_norm"):
                self.assertAlmostEqual(many[key] / one[key], 1, delta=1e-5, msg=f"{grid} {key}")

    def test_disturbed_ranks_repeat_the_same_bits(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "unused", "steps": 60})
        calm = self.train(deck, "2x2x2", "calm")
        process = self.start("train", deck, "run.output=disturbed", *on_grid("2x2x2"), ranks=8)
        burner = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        self.addCleanup(burner.wait)
        self.addCleanup(burner.kill)
        chance = random.Random(4)
        stops = 0
        while process.poll() is None and stops < 60:
            ranks = self.ranks_of(process)
            if len(ranks) == 8:
                stops += self.pause(chance.choice(ranks), chance.uniform(0.01, 0.05))
            time.sleep(0.02)
        self.ok(self.finish(process))
        self.assertGreater(stops, 5)
        self.assert_same_run(calm, self.folder / "disturbed")

    def pause(self, rank, seconds):
        try:
            os.kill(rank, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(rank, signal.SIGCONT)
        except ProcessLookupError:
            return 0
        return 1


if __name__ == "__main__":
    main()
