"""A run that goes on on another grid, with another ZeRO stage and schedule, is the run that never moved.

Environment: TRIREME_ALL_PAIRS=1 tries every ordered pair of grids for both decks (some minutes) instead of a tenth.
"""

import os
import signal

from grid_runs import GRIDS, INVARIANT, ODD_GRIDS, GridTest, on_grid, size_of, walk
from harness import ODD, TINY, main

SCHEDULES = ("1f1b", "gpipe", "zero_bubble", "naive", "zero_bubble_h2")
ALL_PAIRS = os.environ.get("TRIREME_ALL_PAIRS", "") not in ("", "0")


class GridResuming(GridTest):
    def walk_over(self, deck, grids, strides):
        """One update on each grid of the walk; every checkpoint is that of the run that stayed on one rank."""
        places = walk(grids, range(1, len(grids)) if ALL_PAIRS else strides)
        steps = [f"learning_rate.decay_steps={len(places)}", f"checkpoint.keep={len(places)}"]
        straight = self.train(deck, "1x1x1", "straight", f"run.steps={len(places)}", "checkpoint.every_steps=1", *steps)
        for step, grid in enumerate(places, 1):
            moving = self.train(deck, grid, "moving", f"run.steps={step}", f"sharding.zero_stage={step % 4}",
                                f"pipeline.schedule={SCHEDULES[step % len(SCHEDULES)]}", *steps)
            name = f"checkpoints/step_{step:08}"
            moved = f"{places[step - 2]} -> {grid} at step {step}"
            different = self.trireme("checkpoint", "diff", straight / name, moving / name)
            self.assertEqual(different.code, 0, f"{moved}\n{different.out}")
        self.assertEqual(self.even_metrics(straight), self.even_metrics(moving))

    def test_tied_embeddings_dropout_and_data_position_move_over_grids(self):
        deck = self.deck(TINY, INVARIANT, data={"train": [self.rows()]}, model={"dropout": 0.1},
                         metrics={"rows": True}, run={"output": "unused"})
        self.walk_over(deck, GRIDS, (4,))

    def test_sizes_that_divide_by_nothing_move_over_grids(self):
        deck = self.deck(ODD, INVARIANT, data={"train": [self.rows(count=37, vocab=97)]},
                         model={"tied_embeddings": False, "norm": "rmsnorm", "activation": "swiglu", "mlp_width": 52,
                                "position": "rotary", "kv_heads": 2, "bias": False}, run={"output": "unused"})
        self.walk_over(deck, ODD_GRIDS, (3,))

    def test_any_number_of_data_ranks_takes_over_a_sharded_optimizer(self):
        deck = self.deck(ODD, data={"train": [self.rows(count=37, vocab=97)]}, batch={"global": 24},
                         run={"output": "unused"}, learning_rate={"decay_steps": 9})
        straight = self.train(deck, "1x1x1", "straight", "run.steps=9")
        for zero, data in ((1, 1), (2, 2), (3, 3), (1, 8)):
            name = f"onto_{data}"
            self.train(deck, "4x1x1", name, "run.steps=5", f"sharding.zero_stage={zero}")
            self.assert_close(straight, self.train(deck, f"{data}x1x1", name, "run.steps=9",
                                                   f"sharding.zero_stage={4 - zero}"))

    def test_shards_of_uneven_and_empty_parts_lose_nothing(self):
        nothing_divides = {**ODD, "batch": {"global": 35, "micro": 1}}
        two_elements = {**TINY, "model": {"layers": 1, "width": 2, "heads": 1, "context": 16, "vocab": 3, "mlp_width": 1}}
        for name, sizes, zero, grid in (("odd", nothing_divides, 3, "7x1x1"), ("two", two_elements, 1, "8x1x1")):
            vocab = sizes["model"]["vocab"]
            deck = self.deck(sizes, data={"train": [self.rows(f"rows_{name}", count=37, vocab=vocab)]},
                             run={"output": "unused"}, learning_rate={"decay_steps": 4}, name=name)
            one = self.train(deck, "1x1x1", f"{name}_one", "run.steps=4")
            stage = f"sharding.zero_stage={zero}"
            straight = self.train(deck, grid, f"{name}_straight", "run.steps=4", stage)
            self.assert_close(one, straight)
            self.train(deck, grid, f"{name}_parts", "run.steps=2", stage)
            self.assert_same_run(straight, self.train(deck, grid, f"{name}_parts", "run.steps=4", stage))

    def test_killed_on_eight_ranks_and_warned_on_four_it_ends_in_the_same_bits(self):
        deck = self.deck(TINY, INVARIANT, data={"train": [self.rows()]}, model={"dropout": 0.1},
                         run={"output": "unused", "steps": 120}, checkpoint={"every_steps": 7})
        straight = self.train(deck, "1x1x1", "straight")
        steps = [0]
        for grid, number, zero in (("2x2x2", signal.SIGKILL, 3), ("1x2x2", signal.SIGUSR1, 0), ("4x1x2", signal.SIGKILL, 1)):
            process = self.start("train", deck, "run.output=killed", f"sharding.zero_stage={zero}", *on_grid(grid),
                                 ranks=size_of(grid))
            aim = steps[-1] + 7
            self.wait_for(lambda a=aim: max(self.steps(self.folder / "killed"), default=0) >= a)
            victims = self.ranks_of(process)
            self.assertEqual(len(victims), size_of(grid), f"{grid} ended before it was stopped")
            os.kill(victims[-1], number)
            result = self.finish(process)
            self.assertEqual(result.code == 75, number == signal.SIGUSR1, result.out)
            steps.append(max(self.steps(self.folder / "killed")))
        self.assertEqual(steps, sorted(set(steps)))
        self.assert_same_run(straight, self.train(deck, "1x1x4", "killed"))


if __name__ == "__main__":
    main()
