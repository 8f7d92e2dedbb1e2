"""Damaged checkpoints and full disks: named, passed over, never taken as good."""

import random
import shutil
import subprocess

import h5py
import numpy as np

from harness import TINY, RunTest, main


class Damage(RunTest):
    def damaged(self, checkpoint, name):
        """`checkpoint verify` names the file and returns 2."""
        result = self.trireme("checkpoint", "verify", checkpoint)
        self.assertEqual(result.code, 2, result.out)
        self.assertIn(name, result.out)

    def trained(self, ranks=4, steps=8):
        data = self.rows()
        self.deck_path = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": steps},
                                   checkpoint={"every_steps": 4, "keep": 5})
        self.ok(self.trireme("train", self.deck_path, ranks=ranks))
        return self.folder / "run/checkpoints"

    def test_every_kind_of_broken_file_is_named_and_the_older_checkpoint_is_used(self):
        checkpoints = self.trained()
        newest, older = checkpoints / "step_00000008", checkpoints / "step_00000004"
        keep = self.folder / "keep"
        shutil.copytree(newest, keep)
        shard = newest / "shard_00002.h5"
        whole = shard.read_bytes()
        damages = {
            "one byte short": whole[:-1],
            "half": whole[:len(whole) // 2],
            "empty": b"",
            "zeroed head": bytes(512) + whole[512:],
            "missing": None,
            "the other step's": (older / "shard_00002.h5").read_bytes(),
        }
        old_bytes = {p.name: p.read_bytes() for p in older.iterdir()}
        for kind, content in damages.items():
            shutil.rmtree(newest)
            shutil.copytree(keep, newest)
            shard.unlink()
            if content is not None:
                shard.write_bytes(content)
            self.damaged(newest, "shard_00002.h5")
            with self.within(15, kind):
                self.refused(self.trireme("train", self.deck_path, f"run.resume={newest}", "run.steps=9", ranks=4),
                             "shard_00002.h5")
            resumed = self.trireme("train", self.deck_path, "run.steps=9", "checkpoint.every_steps=0", ranks=4)
            self.ok(resumed)
            self.assertIn("shard_00002.h5", resumed.out, kind)
            self.assertIn("going on from step 4", resumed.out, kind)
            shutil.rmtree(checkpoints / "step_00000009")
            self.assertEqual({p.name: p.read_bytes() for p in older.iterdir()}, old_bytes, kind)

    def test_a_hundred_flipped_bits_are_a_hundred_refusals(self):
        newest = self.trained(ranks=2) / "step_00000008"
        chance = random.Random(5)
        raw = {shard.name: raw_bytes(shard) for shard in newest.glob("shard_*.h5")}
        for number in range(100):
            shard = newest / f"shard_0000{number % 2}.h5"
            content = bytearray(shard.read_bytes())
            place = chance.choice(raw[shard.name])
            content[place] ^= 1 << chance.randrange(8)
            whole = shard.read_bytes()
            shard.write_bytes(content)
            self.damaged(newest, shard.name)
            if number % 10 == 0:
                ranks = 1 + number // 10 % 2
                self.refused(self.trireme("train", self.deck_path, f"run.resume={newest}", "run.steps=9", ranks=ranks),
                             shard.name)
            shard.write_bytes(whole)
        self.ok(self.trireme("checkpoint", "verify", newest))

    def test_an_attribute_of_the_index_cannot_be_changed_unseen(self):
        newest = self.trained(ranks=1) / "step_00000008"
        with h5py.File(newest / "index.h5", "r+") as index:
            index.attrs["samples"] = 1
        self.damaged(newest, "index.h5")

    def test_list_and_show_say_what_is_there(self):
        self.trained(ranks=1)
        shown = self.ok(self.trireme("checkpoint", "show", "run")).out
        self.assertIn("blocks.0.attention.query.weight", shown)
        listed = self.ok(self.trireme("checkpoint", "list", "run")).out
        self.assertIn("4", listed)
        self.assertIn("8", listed)

    def test_a_full_disk_costs_only_the_checkpoint_that_did_not_fit(self):
        data = self.rows()
        disk = self.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1600k", "tmpfs", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        deck = self.deck(TINY, data={"train": [data]}, run={"output": str(disk / "run"), "steps": 20},
                         checkpoint={"every_steps": 5, "keep": 3})
        result = self.trireme("train", deck, ranks=4)
        self.assertEqual(result.code, 3, result.out)
        self.assertIn("free", result.out)
        self.assertIn(str(disk / "run/checkpoints"), result.out)
        foretold = result.out.find("will be short of room (up to 4 more checkpoints lie there at once")
        self.assertLess(0, foretold, result.out)
        self.assertLess(foretold, result.out.find("step 1/20"), "told too late")
        kept = self.steps(disk / "run")
        self.assertIn(5, kept)
        self.assertNotIn(20, kept)
        self.assertEqual([p.name for p in (disk / "run/checkpoints").iterdir() if p.name.startswith(".")], [])
        for step in kept:
            self.ok(self.trireme("checkpoint", "verify", disk / f"run/checkpoints/step_{step:08d}"))
        self.ok(self.trireme("train", deck, "run.steps=20", "checkpoint.every_steps=0", "checkpoint.keep=1",
                             f"run.output={self.folder / 'elsewhere'}", f"run.resume={disk / 'run'}", ranks=2))

    def test_a_failed_save_leaves_older_ones_and_training_goes_on(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 12}, checkpoint={"every_steps": 1, "keep": 3})
        env = {"TRIREME_FAULT": "pwrite:staging_00000011:28:0"}
        result = self.ok(self.trireme("train", deck, ranks=2, env=env))
        self.assertIn("step 11 was not saved", result.out)
        self.assertEqual(self.steps(self.folder / "run"), [9, 10, 12])
        for step in (9, 10, 12):
            self.ok(self.trireme("checkpoint", "verify", self.folder / f"run/checkpoints/step_{step:08d}"))

    def test_a_file_size_limit_on_one_rank_is_told_by_it(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 3})
        result = self.trireme("train", deck, ranks=4, env={"TRIREME_FAULT": "pwrite:shard_00003:27:0"})
        self.assertEqual(result.code, 3, result.out)
        self.assertIn("shard_00003", result.out)
        self.assertEqual(self.steps(self.folder / "run"), [])

    def test_a_rank_that_fails_while_it_sends_its_part_is_heard_by_all(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 8},
                         checkpoint={"every_steps": 4, "ranks_per_file": 2})
        for rank in (2, 3):  # the writer of a file, and one that sends to it
            self.on_rank(rank, TRIREME_FAULT="stream:staging_00000004:12:5:1")
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            result = self.ok(self.trireme("train", deck, ranks=4))
            self.assertIn("step 4 was not saved", result.out)
            self.assertIn(f"rank {rank}: ", result.out)
            self.assertEqual(self.steps(self.folder / "run"), [8])
            self.assertEqual([p.name for p in (self.folder / "run/checkpoints").iterdir()], ["step_00000008"])

    def test_a_stop_whose_save_fails_is_no_early_stop(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 100000})
        (self.folder / "run").mkdir()
        (self.folder / "run/stop").touch()
        result = self.trireme("train", deck, ranks=2, env={"TRIREME_FAULT": "pwrite:staging_:28:0"})
        self.assertEqual(result.code, 3, result.out)
        self.assertEqual(self.steps(self.folder / "run"), [])

    def test_a_planted_step_of_another_run_is_left_alone(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 3},
                         checkpoint={"every_steps": 1, "keep": 1})
        self.ok(self.trireme("train", deck, "run.output=donor"))
        planted = self.folder / "run/checkpoints/notes"
        planted.mkdir(parents=True)
        (planted / "file").write_text("mine")
        self.ok(self.trireme("train", deck))
        self.assertEqual((planted / "file").read_text(), "mine")
        self.assertEqual(self.steps(self.folder / "run"), [3])


def raw_bytes(shard):
    """Offsets of every byte of the stored tensors."""
    places = []

    def visit(_, found):
        if isinstance(found, h5py.Dataset) and found.dtype == np.float32 and found.id.get_offset() is not None:
            places.extend(range(found.id.get_offset(), found.id.get_offset() + found.nbytes))

    with h5py.File(shard) as file:
        file.visititems(visit)
    return places


if __name__ == "__main__":
    main()
