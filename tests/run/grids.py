"""Runs on different numbers of ranks and threads: equal bits where that is promised, close numbers everywhere."""

import h5py
import numpy as np

from harness import ODD, TINY, RunTest, main

INVARIANT = {"numerics": {"grid_invariant": True}}


class Grids(RunTest):
    def runs(self, deck, grids, **kwargs):
        """Runs the deck on each (ranks, threads); returns the run folders."""
        folders = []
        for ranks, threads in grids:
            folder = self.folder / f"run_{len(list(self.folder.iterdir()))}_{ranks}x{threads}"
            self.ok(self.trireme("train", deck, f"run.output={folder}", ranks=ranks,
                                 env={"OMP_NUM_THREADS": str(threads)}, **kwargs))
            folders.append(folder)
        return folders

    def assert_equal_by_h5py(self, run, other):
        """The whole-tensor view that any HDF5 reader has is equal too."""
        def tensors(folder):
            index = max((folder / "checkpoints").glob("step_*")) / "index.h5"
            found = {}
            with h5py.File(index) as file:
                for group in ("weights", "moments/first", "moments/second"):
                    for name, dataset in file[group].items():
                        found[f"{group}/{name}"] = dataset[...]
            return found
        first, second = tensors(run), tensors(other)
        self.assertEqual(first.keys(), second.keys())
        for name, values in first.items():
            self.assertTrue(np.isfinite(values).all(), name)
            self.assertEqual(values.tobytes(), second[name].tobytes(), name)

    def test_thirty_two_micro_batches_in_eight_lanes_are_equal_on_every_grid(self):
        generator = np.random.default_rng(3)
        context, samples, vocab = 16, 80, 96
        tokens = generator.integers(0, vocab, samples * context + 1)
        counts = [15, 3, 9, 1, 16, 2, 0, 7]
        mask = np.ones(len(tokens), dtype=np.uint8)
        for sample in range(samples):
            begin = sample * context + 1
            mask[begin + counts[sample % 8]:begin + context] = 0
        data = self.ids("train", tokens, vocab, mask=mask)
        deck = self.deck(TINY, INVARIANT, data={"train": [data]}, batch={"global": 32, "micro": 1}, run={"steps": 6, "output": "unused"},
                         model={"dropout": 0.1, "tied_embeddings": True}, numerics={"data_lanes": 8})
        runs = self.runs(deck, [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (8, 1)])
        for run in runs[1:]:
            self.assert_same_run(runs[0], run)
        self.assert_equal_by_h5py(runs[0], runs[-1])

    def test_zero_stage_makes_no_difference(self):
        data = self.rows()
        deck = self.deck(TINY, INVARIANT, data={"train": [data]}, run={"output": "unused", "steps": 4})
        one = self.runs(deck, [(1, 1)])[0]
        for stage in (0, 1):
            staged = self.deck(TINY, INVARIANT, data={"train": [data]}, run={"output": "unused", "steps": 4},
                               sharding={"zero_stage": stage}, name=f"stage_{stage}")
            for run in self.runs(staged, [(2, 1), (4, 1)]):
                self.assert_same_run(one, run)

    def test_first_weights_do_not_depend_on_the_grid(self):
        for name, sizes in (("tiny", TINY), ("odd", ODD)):
            data = self.rows(name, vocab=sizes["model"]["vocab"])
            deck = self.deck(sizes, data={"train": [data]}, run={"output": "unused", "steps": 0}, name=name)
            runs = self.runs(deck, [(1, 1), (1, 2), (2, 1), (4, 1), (8, 1)])
            for run in runs[1:]:
                self.ok(self.trireme("checkpoint", "diff", runs[0], run))
            with h5py.File(runs[0] / "checkpoints/step_00000000/index.h5") as index:
                up = index["weights/blocks.0.mlp.up.weight"][...]
                self.assertAlmostEqual(float(up.std()), 0.02, delta=0.002)
                self.assertFalse(np.array_equal(up, index["weights/blocks.1.mlp.up.weight"][...]))

    def test_any_split_of_the_batch_gives_the_same_training(self):
        data = self.rows()
        reference = None
        for micro, ranks in ((8, 1), (4, 1), (1, 1), (1, 2), (2, 4), (1, 8)):
            deck = self.deck(TINY, data={"train": [data]}, batch={"micro": micro}, run={"output": "unused", "steps": 5})
            run = self.runs(deck, [(ranks, 1)])[0]
            reference = reference or run
            self.assert_close(reference, run)

    def test_the_loss_is_weighted_by_counted_tokens_however_they_are_split(self):
        context, vocab = 16, 96
        counts = [15, 3, 9, 1, 16, 2, 0, 7]
        tokens = np.random.default_rng(5).integers(0, vocab, len(counts) * context + 1)
        mask = np.zeros(len(tokens), dtype=np.uint8)
        for sample, count in enumerate(counts):
            mask[sample * context + 1:sample * context + 1 + count] = 1
        data = self.ids("train", tokens, vocab, mask=mask)
        reference = None
        for micro, ranks in ((8, 1), (1, 1), (2, 2), (1, 8)):
            deck = self.deck(TINY, data={"train": [data]}, batch={"micro": micro}, run={"output": "unused", "steps": 5})
            run = self.runs(deck, [(ranks, 1)])[0]
            reference = reference or run
            self.assert_close(reference, run)
            self.assertAlmostEqual(self.metrics(run)[0]["loss"], np.log(vocab), delta=0.1)
            self.assertEqual(self.metrics(run)[0]["tokens"], sum(counts))

    def test_a_batch_without_a_counted_token_is_no_accident(self):
        tokens = np.random.default_rng(5).integers(0, 96, 8 * 16 + 1)
        data = self.ids("train", tokens, 96, mask=np.zeros(len(tokens)))
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "unused", "steps": 2})
        for run in self.runs(deck, [(1, 1), (2, 1)]):
            for line in self.metrics(run):
                self.assertEqual((line["loss"], line["grad_norm"], line["tokens"]), (0, 0, 0))

    def test_the_gradient_norm_counts_each_element_once(self):
        data = self.rows()
        for tied in (True, False):
            for clip in (0.5, 1e9):
                deck = self.deck(TINY, data={"train": [data]}, model={"tied_embeddings": tied},
                                 optimizer={"clip_norm": clip}, run={"output": "unused", "steps": 2})
                runs = self.runs(deck, [(1, 1), (2, 1), (4, 1)])
                for run in runs[1:]:
                    self.assert_close(runs[0], run, 1e-6)

    def test_odd_numbers_of_ranks_are_close_and_repeat_themselves(self):
        data = self.rows(count=45, vocab=97)
        deck = self.deck(ODD, data={"train": [data]}, batch={"global": 15, "micro": 1}, run={"output": "unused", "steps": 5})
        runs = self.runs(deck, [(1, 1), (3, 1), (3, 1), (5, 1)])
        self.assert_close(runs[0], runs[1])
        self.assert_close(runs[0], runs[3])
        self.assert_same_run(runs[1], runs[2])

    def test_two_runs_of_one_job_are_equal_with_any_collective_algorithm(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "unused", "steps": 5})
        first = self.runs(deck, [(4, 1)])[0]
        for algorithm in ("1", "3", "4"):
            other = self.folder / f"algorithm_{algorithm}"
            self.ok(self.trireme("train", deck, f"run.output={other}", ranks=4,
                                 env={"OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                                      "OMPI_MCA_coll_tuned_allreduce_algorithm": algorithm}))
            self.assert_same_run(first, other)

    def test_small_limits_on_messages_and_files_change_nothing(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "unused", "steps": 3})
        first = self.runs(deck, [(2, 1)])[0]
        other = self.folder / "limited"
        self.ok(self.trireme("train", deck, f"run.output={other}", ranks=2,
                             env={"TRIREME_MAX_MESSAGE_BYTES": "1000", "TRIREME_MAX_IO_BYTES": "1000"}))
        self.assert_same_run(first, other)

    def test_every_epoch_has_every_row_once_on_every_grid(self):
        data = self.rows(count=20)
        rows = {}
        for ranks, micro in ((1, 1), (1, 2), (2, 1), (4, 1)):
            deck = self.deck(TINY, data={"train": [data]}, batch={"global": 4, "micro": micro}, metrics={"rows": True},
                             run={"output": "unused", "steps": 15})
            run = self.runs(deck, [(ranks, 1)])[0]
            rows[ranks, micro] = [line["rows"] for line in self.metrics(run)]
        first = rows[1, 1]
        for epoch in range(3):
            seen = sorted(sum(first[5 * epoch:5 * epoch + 5], []))
            self.assertEqual(seen, list(range(20)))
        self.assertTrue(all(other == first for other in rows.values()))
        self.assertNotEqual(first[:5], first[5:10])


if __name__ == "__main__":
    main()
