"""A run that was stopped and goes on is the run that was never stopped."""

import itertools
import shutil
import time

from harness import TINY, RunTest, main


class Resuming(RunTest):
    def stopped_and_resumed(self, deck, stops, steps, ranks=0, folder="parts", **kwargs):
        """Runs to each stop in turn, then to the end, as separate processes; `ranks` may be a list."""
        each = itertools.cycle(ranks if isinstance(ranks, list) else [ranks])
        for stop in [*stops, steps]:
            self.ok(self.trireme("train", deck, f"run.output={folder}", f"run.steps={stop}",
                                 f"learning_rate.decay_steps={steps}", ranks=next(each), **kwargs))
        return self.folder / folder

    def straight(self, deck, steps, ranks=0, folder="straight"):
        self.ok(self.trireme("train", deck, f"run.output={folder}", f"run.steps={steps}",
                             f"learning_rate.decay_steps={steps}", ranks=ranks))
        return self.folder / folder

    def test_the_data_position_survives_epochs_and_accumulation(self):
        data = self.rows(count=20)
        for micro, ranks in ((4, 0), (1, 0), (1, 2)):
            deck = self.deck(TINY, data={"train": [data]}, batch={"global": 4, "micro": micro}, metrics={"rows": True},
                             run={"output": "unused"}, model={"dropout": 0.1})
            straight = self.straight(deck, 15, ranks, f"straight_{micro}_{ranks}")
            for stops in ([3], [5], [7, 12]):
                parts = self.stopped_and_resumed(deck, stops, 15, ranks, f"parts_{micro}_{ranks}_{stops[0]}")
                self.assert_same_run(straight, parts)

    def test_learning_rate_and_adam_counter_go_on_from_every_step(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "unused"}, learning_rate={"warmup_steps": 5})
        straight = self.straight(deck, 12)
        for stops in ([1], [2], [5], [6], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]):
            parts = self.stopped_and_resumed(deck, stops, 12, folder=f"parts_{len(stops)}_{stops[0]}")
            self.assert_same_run(straight, parts)

    def test_a_run_changes_its_number_of_ranks_at_every_restart(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "unused"}, model={"dropout": 0.1},
                         metrics={"rows": True}, numerics={"grid_invariant": True})
        straight = self.straight(deck, 20)
        parts = self.stopped_and_resumed(deck, [3, 5, 8, 13, 17], 20, [4, 1, 2, 8, 1, 4])
        self.assert_same_run(straight, parts)

    def test_more_steps_go_on_from_a_finished_run(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 3})
        self.ok(self.trireme("train", deck))
        again = self.ok(self.trireme("train", deck))
        self.assertIn("step 3", again.out)
        self.ok(self.trireme("train", deck, "run.steps=5"))
        self.assertEqual(self.steps(self.folder / "run")[-1], 5)
        self.assertEqual(len(self.metrics(self.folder / "run")), 5)

    def test_nothing_to_resume_is_three_cases(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 2})
        self.assertIn("fresh start", self.ok(self.trireme("train", deck)).out)
        shutil.rmtree(self.folder / "run")
        (self.folder / "run/checkpoints/.staging_00000001.1").mkdir(parents=True)
        self.assertIn("fresh start", self.ok(self.trireme("train", deck)).out)
        self.assertEqual(list((self.folder / "run/checkpoints").glob(".staging*")), [])
        self.refused(self.trireme("train", deck, "run.resume=nowhere"), "nowhere")
        self.refused(self.trireme("train", deck, "run.resume=never"), "run.resume", "step 2")

    def test_damage_to_all_checkpoints_never_starts_afresh(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 2})
        self.ok(self.trireme("train", deck))
        (self.folder / "run/checkpoints/step_00000002/index.h5").write_bytes(b"")
        before = (self.folder / "run/metrics.jsonl").read_bytes()
        self.refused(self.trireme("train", deck, "run.steps=4"), "index.h5")
        self.assertEqual((self.folder / "run/metrics.jsonl").read_bytes(), before)

    def test_a_job_that_is_started_again_with_a_path_goes_on_from_what_it_made_of_it(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run"}, checkpoint={"every_steps": 2, "keep": 9},
                         learning_rate={"decay_steps": 12})
        self.ok(self.trireme("train", deck, "run.output=donor", "run.steps=12", ranks=2))
        origin = "donor/checkpoints/step_00000004"
        for steps, begin in ((6, 4), (10, 6), (12, 10)):
            again = self.ok(self.trireme("train", deck, f"run.resume={origin}", f"run.steps={steps}", ranks=2))
            self.assertIn(f"going on from step {begin}", again.out)
            self.assertEqual(again.out.count("this run went on from"), int(begin != 4), again.out)
        self.ok(self.trireme("checkpoint", "diff", "run", "donor"))
        newest = self.folder / "run/checkpoints/step_00000012"
        (newest / "shard_00001.h5").unlink()
        shutil.rmtree(self.folder / "donor")
        passed = self.ok(self.trireme("train", deck, f"run.resume={origin}/", "run.steps=13", ranks=2))
        self.assertIn("shard_00001.h5", passed.out)
        self.assertIn("going on from step 10", passed.out)

    def test_a_path_into_the_own_folder_goes_back_once(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run"}, checkpoint={"every_steps": 2, "keep": 9})
        self.ok(self.trireme("train", deck, "run.steps=8"))
        back = ("train", deck, "run.resume=run/checkpoints/step_00000004", "learning_rate.peak=1e-3")
        self.assertIn("going on from step 4", self.ok(self.trireme(*back, "run.steps=6")).out)
        self.assertIn("going on from step 6", self.ok(self.trireme(*back, "run.steps=10")).out)

    def test_a_disk_that_does_not_answer_is_no_damage(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run"}, checkpoint={"every_steps": 4})
        self.ok(self.trireme("train", deck, "run.steps=8", ranks=2))
        for file in ("index.h5", "shard_00001.h5"):
            for call in ("open", "pread"):
                env = {"TRIREME_FAULT": f"{call}:step_00000008/{file}:5"}
                passed = self.ok(self.trireme("train", deck, "run.steps=5", "checkpoint.every_steps=0", ranks=2, env=env))
                self.assertIn(f"step_00000008/{file}", passed.out)
                self.assertIn("Input/output error", passed.out)
                self.assertIn("going on from step 4", passed.out)
                shutil.rmtree(self.folder / "run/checkpoints/step_00000005")
        none = self.trireme("train", deck, "run.steps=9", ranks=2, env={"TRIREME_FAULT": "pread:index.h5:5"})
        self.refused(none, "could be read", "Input/output error", code=3)
        self.assertIn("going on from step 8", self.ok(self.trireme("train", deck, "run.steps=9", ranks=2)).out)

    def test_another_model_is_refused_with_every_difference(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 2})
        self.ok(self.trireme("train", deck))
        changes = {"model.width": "48", "model.layers": "3", "model.vocab": "97", "model.heads": "8",
                   "model.activation": '"gelu"', "model.norm_epsilon": "0.25", "model.tied_embeddings": "false",
                   "model.position": '"rotary"', "model.norm": '"rmsnorm"', "model.bias": "false"}
        for key, value in changes.items():
            self.refused(self.trireme("train", deck, "run.steps=4", f"{key}={value}"), key, value.strip('"'))
        both = self.refused(self.trireme("train", deck, "run.steps=4", "model.heads=8", "model.norm_epsilon=1e-6"))
        self.assertIn("model.heads", both.out)
        self.assertIn("model.norm_epsilon", both.out)
        soft = self.ok(self.trireme("train", deck, "run.steps=4", "model.dropout=0.1", "learning_rate.peak=1e-3"))
        self.assertIn("model.dropout", soft.out)
        self.assertIn("learning_rate.peak", soft.out)

    def test_rotation_keeps_the_newest_by_number(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run"}, checkpoint={"every_steps": 1, "keep": 3})
        for start, steps in ((0, 12), (12, 102)):
            self.ok(self.trireme("train", deck, f"run.steps={steps}"))
            self.assertEqual(self.steps(self.folder / "run"), [steps - 2, steps - 1, steps])
        kept = self.deck(TINY, data={"train": [data]}, run={"output": "kept", "steps": 9},
                         checkpoint={"every_steps": 1, "keep": 2, "keep_every_steps": 4}, name="kept")
        self.ok(self.trireme("train", kept))
        self.assertEqual(self.steps(self.folder / "kept"), [4, 8, 9])
        self.refused(self.trireme("train", deck, "checkpoint.keep=0"), "checkpoint.keep")

    def ends_before_its_walltime(self, deck, limit_s=9, margin_s=4):
        """The last checkpoint is committed within the limit, and not long before it."""
        process = self.start("train", deck, f"walltime.limit_minutes={limit_s / 60}", f"walltime.margin_seconds={margin_s}",
                             ranks=2)
        self.wait_for(lambda: len(self.ranks_of(process)) == 2)
        began = time.time()
        self.ok(self.finish(process), 75)
        # What launch and exit take is the machine's affair; the program answers for what lies between.
        committed = (self.folder / "run/checkpoints").stat().st_mtime - began
        self.assertLess(committed, limit_s)
        self.assertGreater(committed, limit_s - margin_s - 2)

    def test_stop_file_walltime_and_save_file(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 200000})
        (self.folder / "run").mkdir()
        (self.folder / "run/stop").touch()
        self.ok(self.trireme("train", deck, ranks=2), 75)
        (self.folder / "run/stop").unlink()
        self.ends_before_its_walltime(deck)
        step = self.steps(self.folder / "run")[-1]
        self.assertGreater(step, 0)
        (self.folder / "run/save").touch()
        (self.folder / "run/stop").unlink(missing_ok=True)
        self.ok(self.trireme("train", deck, f"run.steps={step + 5}", "checkpoint.keep=10"))
        self.assertFalse((self.folder / "run/save").exists())
        self.assertEqual(self.steps(self.folder / "run")[-2:], [step + 1, step + 5])

    def test_a_request_to_save_is_answered_once_whatever_cannot_be_removed(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run", "steps": 6},
                         checkpoint={"keep": 10})
        (self.folder / "run").mkdir()
        (self.folder / "run/save").touch()
        # The request itself: without it saving would be asked for at every step.
        said = self.ok(self.trireme("train", deck, env={"TRIREME_FAULT": "unlink:run/save:13"})).out
        self.assertIn("could not be removed", said)
        self.assertEqual(self.steps(self.folder / "run"), [1, 6])
        # An older checkpoint: that leaves the request no longer than one that went well.
        said = self.ok(self.trireme("train", deck, "run.steps=12", "checkpoint.keep=1",
                                    env={"TRIREME_FAULT": "rmdir:step_00000001:13;rename:step_00000001:13"})).out
        self.assertIn("older checkpoints could not be removed", said)
        self.assertFalse((self.folder / "run/save").exists())
        self.assertEqual(self.steps(self.folder / "run")[-2:], [7, 12])

    def test_a_line_of_metrics_that_cannot_be_written_is_left_out(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run", "steps": 5})
        said = self.ok(self.trireme("train", deck, env={"TRIREME_FAULT": "write:metrics.jsonl:28:1:2"})).out
        self.assertEqual(said.count("line of the metrics could not be written"), 1)
        self.assertEqual([line["step"] for line in self.metrics(self.folder / "run")], [1, 4, 5])


if __name__ == "__main__":
    main()
