"""Wrong input: one message with the place and a remedy, exit code 2, in seconds, on one rank and on four."""

import os

import h5py
import numpy as np

from harness import ODD, TINY, RunTest, main


class Input(RunTest):
    def refused_everywhere(self, deck, *parts, overrides=(), ranks=(0, 4)):
        for count in ranks:
            with self.within(5):
                self.refused(self.trireme("train", deck, *overrides, ranks=count), *parts)

    def good(self, **sections):
        return self.deck(TINY, {"data": {"train": [self.rows()]}, "run": {"output": "run"}}, sections)

    def test_unknown_misplaced_and_repeated_keys(self):
        deck = self.good()
        text = deck.read_text()
        for change, parts in {
            text.replace("width = 32", "widht = 32"): ("widht", "width", "deck.toml:"),
            text + "clip_norm = 2.0\n": ("clip_norm", "optimizer"),
            text.replace("steps = 20", "steps = 20\nsteps = 21"): ("steps", "deck.toml:"),
            text.replace("layers = 4", 'layers = "four"'): ("layers", "four"),
            text.replace("layers = 4", "layers = 1e3"): ("layers",),
            text.replace("layers = 4", "layers = -4"): ("layers", "-4"),
            "": ("deck.toml",),
            text + "[nonsense]\nx = 1\n": ("nonsense",),
        }.items():
            deck.write_text(change)
            self.refused_everywhere(deck, *parts)

    def test_all_problems_come_in_one_message(self):
        deck = self.good()
        deck.write_text(deck.read_text().replace("width = 32", "widht = 32").replace("heads = 4", "heads = 0"))
        self.refused_everywhere(deck, "widht", "heads")

    def test_overrides_of_the_command_line(self):
        deck = self.good()
        self.refused_everywhere(deck, "model.widht", "model.width", overrides=["model.widht=3"], ranks=(0,))
        self.refused_everywhere(deck, "run.steps", overrides=["run.steps=1", "run.steps=2"], ranks=(0,))
        self.refused_everywhere(deck, "run.steps", overrides=["run.steps=many"], ranks=(0,))

    def test_a_grid_that_does_not_fit_the_ranks(self):
        deck = self.good(grid={"data": 4})
        for ranks in (1, 6, 7, 8):
            self.refused(self.trireme("train", deck, ranks=ranks), "4", str(ranks))
        self.refused_everywhere(self.good(grid={"data": -1}), "grid.data")
        self.refused(self.trireme("train", self.good(batch={"global": 9, "micro": 3}), ranks=2), "batch.global", "grid.data")

    def test_sizes_that_do_not_divide(self):
        data = self.rows(vocab=97)
        deck = self.deck(ODD, data={"train": [data]}, run={"output": "run"}, model={"heads": 7})
        self.refused_everywhere(deck, "model.width", "model.heads")
        self.refused_everywhere(self.good(batch={"micro": 3}), "batch.global", "batch.micro")
        self.refused_everywhere(self.good(model={"kv_heads": 3}), "model.kv_heads", "model.heads")

    def test_what_this_version_does_not_do_is_refused_by_name(self):
        for key, value in (("comm.backend", '"nccl"'), ("checkpoint.asynchronous", "true")):
            self.refused_everywhere(self.good(), key, overrides=[f"{key}={value}"], ranks=(0,))

    def test_a_missing_or_foreign_data_file(self):
        foreign = self.folder / "foreign.h5"
        with h5py.File(foreign, "w") as file:
            file["tokens"] = np.zeros(1000, dtype=np.float32)
        text = self.folder / "text.h5"
        text.write_text("no HDF5 at all " * 100)
        for name in ("nowhere.h5", "foreign.h5", "text.h5"):
            self.refused_everywhere(self.good(), name, overrides=[f'data.train=["{self.folder / name}"]'])

    def test_a_dataset_of_fewer_tokens_than_one_sample(self):
        short = self.ids("short", np.zeros(16), 96)
        self.refused_everywhere(self.good(), "short.h5", overrides=[f'data.train=["{short}"]'])

    def test_a_vocabulary_below_the_data(self):
        self.refused_everywhere(self.good(), "model.vocab", "96", overrides=["model.vocab=95"])

    def test_data_of_another_tokenizer_than_the_model_s(self):
        text = self.folder / "text.txt"
        text.write_text("no ids at all " * 20)
        self.ok(self.trireme("prepare", "bytes.h5", text, "--tokenizer", "byte"))
        deck = self.good(model={"vocab": 256})
        self.refused_everywhere(deck, "bytes.h5", "train.h5", "tokenizer", overrides=['data.validation=["bytes.h5"]'])
        self.ok(self.trireme("train", deck, "run.steps=1"))
        self.refused_everywhere(deck, "bytes.h5", "step_00000001", "tokenizer", overrides=['data.train=["bytes.h5"]'])
        for ranks in (0, 4):
            self.refused(self.trireme("evaluate", "run", "bytes.h5", ranks=ranks), "bytes.h5", "ids", "byte")
        self.ok(self.trireme("evaluate", "run", self.rows()))

    def test_a_validation_file_with_more_ids_is_named_itself(self):
        more = self.ids("more", np.arange(200) % 120, 120)
        self.refused_everywhere(self.good(), "more.h5", "120", overrides=[f'data.validation=["{more}"]'], ranks=(0,))
        self.refused_everywhere(self.good(), "96 ids", "120 ids", ranks=(0,),
                                overrides=[f'data.train=["{self.rows()}", "{more}"]'])

    def test_paths_that_no_file_can_have_and_files_that_no_path_should_name(self):
        deck = self.good()
        self.refused_everywhere(deck, "run.output", "train.h5", overrides=['run.output="train.h5"'])
        self.refused_everywhere(deck, "run.output", "zero byte", overrides=['run.output="a\\u0000b"'])
        os.mkfifo(self.folder / "pipe")
        self.refused_everywhere(deck, "pipe", overrides=['data.train=["pipe"]'])
        self.refused(self.trireme("prepare", "out.h5", "pipe", "--tokenizer", "byte"), "pipe")

    def test_a_truncated_dataset(self):
        data = self.rows()
        data.write_bytes(data.read_bytes()[:-1])
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run"})
        self.refused_everywhere(deck, "train.h5")

    def test_prepare_refuses_what_it_cannot_read(self):
        self.refused(self.trireme("prepare", "out.h5", "nowhere.txt", "--tokenizer", "byte"), "nowhere.txt")
        bad = self.folder / "bad.npy"
        np.save(bad, np.array([1, 2, 300], dtype=np.int32))
        self.refused(self.trireme("prepare", "out.h5", bad, "--tokenizer", "ids", "--vocab", "256"), "bad.npy", "300", "2")
        np.save(bad, np.array([1.5, 2]))
        self.refused(self.trireme("prepare", "out.h5", bad, "--tokenizer", "ids"), "bad.npy")
        (self.folder / "empty.txt").write_text("")
        self.refused(self.trireme("prepare", "out.h5", "empty.txt", "--tokenizer", "byte"), "empty.txt")
        self.refused(self.trireme("prepare", "out.h5", "empty.txt", "--tokenizer", "word"), "word")

    def test_commands_and_paths(self):
        self.refused(self.trireme("trian"), "trian", "train")
        self.refused(self.trireme("train", "nowhere.toml"), "nowhere.toml")
        self.refused(self.trireme("generate", "nowhere", "--prompt", "x"), "nowhere")
        self.refused(self.trireme("checkpoint", "verify", "nowhere"), "nowhere")
        self.refused(self.trireme("help", "modle"), "modle", "model")
        self.assertIn("model.width", self.ok(self.trireme("help", "model")).out.replace("[model]", "model.width"))
        for words in (["train"], ["trian"], ["train", "deck.toml", "--steps=3"]):
            self.refused(self.trireme(*words, ranks=4), "train")
        for option in ("--temperature=nan", "--temperature=-1", "--tokens=-1", "--tokens=99999999999999999999"):
            result = self.refused(self.trireme("generate", "nowhere", "--prompt", "x", option), option.split("=")[1])
            self.assertLess(len(result.out), 200)
        version = self.ok(self.trireme("--version")).out
        for name in ("MPI", "HDF5", "oneDNN", "Kokkos"):
            self.assertIn(name, version)


if __name__ == "__main__":
    main()
