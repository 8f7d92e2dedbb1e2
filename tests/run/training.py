"""A run from deck to checkpoint, text and plot-ready metrics."""

import json
import math
import os

import h5py
import numpy as np

from harness import ODD, TINY, RunTest, main


class Training(RunTest):
    def test_a_run_learns_and_leaves_what_the_documentation_names(self):
        data = self.rows()
        deck = self.deck(TINY, run={"output": "run"}, data={"train": [data], "validation": [data]},
                         evaluation={"every_steps": 10})
        self.ok(self.trireme("train", deck, ranks=2))
        run = self.folder / "run"
        for name in ("resolved.toml", "metrics.jsonl", "log.txt", "grid.tsv", "checkpoints/step_00000020/index.h5"):
            self.assertTrue((run / name).exists(), name)
        self.assertFalse((run / "lock").exists())
        lines = self.metrics(run)
        self.assertEqual([line["step"] for line in lines], list(range(1, 21)))
        self.assertAlmostEqual(lines[0]["loss"], math.log(96), delta=0.1)
        self.assertLess(lines[-1]["loss"], lines[0]["loss"])
        self.assertEqual([line["step"] for line in lines if "validation_loss" in line], [10, 20])
        self.assertEqual(lines[-1]["tokens"], 20 * 8 * 16)
        for line in lines:
            self.assertTrue(all(math.isfinite(v) for v in line.values() if isinstance(v, float)))
            self.assertGreater(line["mfu"], 0)
        self.assertEqual(len((run / "grid.tsv").read_text().splitlines()), 3)

    def test_mfu_is_a_share_of_the_rate_in_the_type_that_is_computed_in(self):
        for compute in ("fp32", "bf16", "fp16"):
            deck = self.deck(TINY, run={"output": f"run_{compute}", "steps": 1}, data={"train": [self.rows()]},
                             precision={"compute": compute})
            self.assertIn(f"GEMM rate in {compute}: ", self.ok(self.trireme("train", deck)).out)

    def test_a_trace_of_more_steps_than_the_run_has_is_written_at_its_end(self):
        deck = self.deck(TINY, run={"output": "run", "steps": 2}, data={"train": [self.rows()]},
                         metrics={"trace_steps": 1000})
        self.ok(self.trireme("train", deck, "grid.pipeline=2", "grid.data=2", ranks=4))
        trace = json.loads((self.folder / "run/trace.json").read_text())
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        self.assertEqual(sum(event.get("name") == "update" for event in events), 2 * 2)
        self.refused(self.trireme("train", deck, "metrics.trace_steps=1001"), "metrics.trace_steps")

    def test_more_threads_than_cores_are_warned_of_over_all_ranks_of_the_host(self):
        deck = self.deck(TINY, run={"output": "run", "steps": 1}, data={"train": [self.rows()]})
        cores = len(os.sched_getaffinity(0))
        env = {"OMP_NUM_THREADS": str(cores)}
        self.assertNotIn("one thread a core", self.ok(self.trireme("train", deck, env=env)).out)
        self.assertIn(f"{2 * cores} threads of 2 ranks on {cores} cores",
                      self.ok(self.trireme("train", deck, "run.steps=2", ranks=2, env=env)).out)

    def test_one_line_a_logged_step(self):
        data = self.rows()
        deck = self.deck(TINY, run={"output": "run"}, data={"train": [data]}, metrics={"every_steps": 3})
        self.ok(self.trireme("train", deck, ranks=4))
        self.assertEqual([line["step"] for line in self.metrics(self.folder / "run")], [3, 6, 9, 12, 15, 18, 20])

    def test_a_vocabulary_that_divides_by_nothing_is_stored_without_padding(self):
        data = self.rows(vocab=97)
        for tied in (True, False):
            deck = self.deck(ODD, run={"output": f"run_{tied}", "steps": 3}, data={"train": [data]},
                             model={"tied_embeddings": tied})
            self.ok(self.trireme("train", deck, ranks=2))
            self.assertAlmostEqual(self.metrics(self.folder / f"run_{tied}")[0]["loss"], math.log(97), delta=0.1)
            with h5py.File(self.folder / f"run_{tied}/checkpoints/step_00000003/index.h5") as index:
                self.assertEqual(index["weights/embedding.token.weight"].shape, (97, 36))
                self.assertEqual("head.weight" in index["weights"], not tied)

    def test_a_model_with_rows_to_spare_trains(self):
        data = self.rows(vocab=90)
        deck = self.deck(TINY, run={"output": "run", "steps": 2}, data={"train": [data]})
        self.ok(self.trireme("train", deck))

    def test_llama_style_trains_from_the_same_blocks(self):
        data = self.rows()
        deck = self.deck(TINY, run={"output": "run"}, data={"train": [data]},
                         model={"norm": "rmsnorm", "activation": "swiglu", "position": "rotary", "bias": False,
                                "kv_heads": 2, "mlp_width": 88, "tied_embeddings": False})
        self.ok(self.trireme("train", deck))
        lines = self.metrics(self.folder / "run")
        self.assertLess(lines[-1]["loss"], lines[0]["loss"] - 0.05)

    def test_text_goes_in_and_text_comes_out(self):
        text = self.folder / "text.txt"
        text.write_text("In the beginning God created the heaven and the earth. " * 60)
        self.ok(self.trireme("prepare", "text.h5", text, "--tokenizer", "byte"))
        deck = self.deck(TINY, run={"output": "run", "steps": 60}, data={"train": [self.folder / "text.h5"]},
                         model={"vocab": 256, "context": 32})
        self.ok(self.trireme("train", deck))
        said = self.ok(self.trireme("generate", "run", "--prompt", "In the", "--tokens", 50, "--temperature", 0))
        again = self.ok(self.trireme("generate", "run", "--prompt", "In the", "--tokens", 50, "--temperature", 0))
        self.assertEqual(said.out, again.out)
        self.assertTrue(said.out.startswith("In the"))
        self.assertGreaterEqual(len(said.out.encode()), 56)
        evaluated = self.ok(self.trireme("evaluate", "run", "text.h5", ranks=2))
        alone = self.ok(self.trireme("evaluate", "run", "text.h5"))
        self.assertEqual(evaluated.out, alone.out)
        self.assertIn(f"tokens     {60 * 55 - 1}", alone.out)

    def test_data_without_a_counted_token_have_no_loss(self):
        tokens = np.random.default_rng(5).integers(0, 96, 8 * 16 + 1)
        data = self.rows()
        masked = self.ids("masked", tokens, 96, mask=np.zeros(len(tokens)))
        deck = self.deck(TINY, run={"output": "run", "steps": 1}, data={"train": [data]})
        self.ok(self.trireme("train", deck))
        for ranks in (0, 2):
            self.refused(self.trireme("evaluate", "run", masked, ranks=ranks), "masked.h5", "no token counts")

    def test_evaluation_leaves_no_trace_in_training(self):
        data = self.rows()
        validation = self.rows("validation", count=7, seed=9)
        for every in (0, 2, 5):
            deck = self.deck(TINY, run={"output": f"run_{every}"}, model={"dropout": 0.1},
                             data={"train": [data], "validation": [validation]}, evaluation={"every_steps": every})
            self.ok(self.trireme("train", deck))
        plain = self.even_metrics(self.folder / "run_0")
        for every in (2, 5):
            lines = self.even_metrics(self.folder / f"run_{every}")
            for line in lines:
                line.pop("validation_loss", None)
            self.assertEqual(lines, plain)
            self.ok(self.trireme("checkpoint", "diff", "run_0", f"run_{every}"))

    def test_evaluations_at_learning_rate_zero_are_equal_on_every_grid(self):
        data = self.rows()
        validation = self.rows("validation", count=7, seed=9)
        seen = set()
        for ranks in (1, 2, 4):
            deck = self.deck(TINY, run={"output": f"run_{ranks}", "steps": 6}, learning_rate={"peak": 0.0, "minimum": 0.0},
                             data={"train": [data], "validation": [validation]}, evaluation={"every_steps": 2})
            self.ok(self.trireme("train", deck, ranks=ranks))
            seen |= {line["validation_loss"] for line in self.metrics(self.folder / f"run_{ranks}")
                     if "validation_loss" in line}
        self.assertEqual(len(seen), 1, seen)

    def test_metrics_read_back_to_the_same_bits(self):
        data = self.rows()
        deck = self.deck(TINY, run={"output": "run", "steps": 5}, data={"train": [data]})
        self.ok(self.trireme("train", deck))
        for text in (self.folder / "run/metrics.jsonl").read_text().splitlines():
            line = json.loads(text)
            for key in ("loss", "grad_norm", "lr"):
                self.assertIn(repr(line[key]).rstrip("0"), text)


if __name__ == "__main__":
    main()
