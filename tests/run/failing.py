"""Failures of one rank, of the launcher, of a second job: all end in seconds, the cause named."""

import os
import re
import shutil
import signal
import subprocess

import numpy as np

from harness import TINY, TRIREME, RunTest, main


class Failing(RunTest):
    def long_run(self, **sections):
        data = self.rows()
        return self.deck(TINY, {"data": {"train": [data]}, "run": {"output": "run", "steps": 1000000}}, sections)

    def wait_for_metrics(self):
        path = self.folder / "run/metrics.jsonl"
        self.wait_for(lambda: path.exists() and path.stat().st_size > 0)

    def test_a_read_error_on_one_rank_ends_all_and_names_it(self):
        data = self.rows(count=4000)
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 100000}, batch={"global": 64, "micro": 8})
        with self.within(25):
            self.on_rank(5, TRIREME_FAULT="pread:train.h5:5:40")
            result = self.trireme("train", deck, ranks=8)
        self.assertEqual(result.code, 3, result.out)
        self.assertIn("train.h5", result.out)
        self.assertIn("rank 5 on ", result.out)

    def test_a_bad_token_in_the_middle_is_named_by_place_and_value_on_every_grid(self):
        tokens = np.random.default_rng(1).integers(0, 96, 40 * 16 + 1)
        data = self.ids("train", tokens, 96)
        raw = bytearray(data.read_bytes())
        place = raw.find(tokens[:64].astype(np.uint8).tobytes())
        self.assertGreater(place, 0)
        raw[place + 300] = 250
        data.write_bytes(raw)
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run"})
        for ranks in (1, 4):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            result = self.trireme("train", deck, ranks=ranks)
            self.assertEqual(result.code, 2, result.out)
            self.assertIn("train.h5", result.out)

    def test_memory_that_the_system_refuses_is_an_error_before_the_first_step(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 1},
                         model={"width": 8192, "layers": 200, "heads": 64})
        result = self.trireme("train", deck)
        self.assertEqual(result.code, 3, result.out)
        self.assertRegex(result.out, "[0-9] GiB|TiB")

    def test_two_jobs_on_one_run_folder(self):
        deck = self.long_run()
        first = self.start("train", deck)
        self.wait_for_metrics()
        self.refused(self.trireme("train", deck), "lock", str(first.pid))
        self.assertIsNone(first.poll())
        os.kill(first.pid, signal.SIGTERM)
        self.ok(self.finish(first), 75)
        self.ok(self.trireme("train", deck, f"run.steps={self.steps(self.folder / 'run')[-1] + 1}"))

    def test_a_run_whose_lock_was_taken_over_ends_at_its_next_save(self):
        deck = self.long_run(checkpoint={"every_steps": 50})
        process = self.start("train", deck, ranks=2)
        self.wait_for_metrics()
        owner = self.folder / "run/lock/owner"
        owner.write_text(re.sub("token=.*", "token=another", owner.read_text()))
        result = self.finish(process)
        self.assertEqual(result.code, 3, result.out)
        self.assertIn("is no longer ours", result.out)
        self.assertTrue(owner.exists())

    def test_a_dead_owner_leaves_no_lock_behind(self):
        deck = self.long_run()
        process = self.start("train", deck)
        self.wait_for_metrics()
        self.kill(process)
        self.finish(process)
        with self.within(10):
            self.ok(self.trireme("train", deck, "run.steps=1"))

    def test_unconnected_singletons_are_refused(self):
        deck = self.long_run()
        env = {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "1", "SLURM_NTASKS": "4",
               "SLURM_STEP_NUM_TASKS": "4", "SLURM_NPROCS": "4", "SLURM_LOCALID": "0"}
        result = self.trireme("train", deck, env=env)
        self.assertEqual(result.code, 3, result.out)
        self.assertIn("--mpi=pmix", result.out)

    def test_a_rank_that_stops_for_good_is_killed_by_nobody_but_the_launcher(self):
        deck = self.long_run()
        process = self.start("train", deck, ranks=8)
        self.wait_for_metrics()
        victim = self.ranks_of(process)[5]
        with self.within(15):
            os.kill(victim, signal.SIGKILL)
            self.assertNotEqual(self.finish(process).code, 0)
            self.wait_for(lambda: subprocess.run(["pgrep", "-f", f"{TRIREME} train {deck}"], capture_output=True,
                                                 text=True).stdout == "")

    def test_nan_stops_before_the_update_with_exit_code_4(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data]}, run={"output": "run", "steps": 30},
                         learning_rate={"peak": 1e20, "warmup_steps": 0, "schedule": "constant"},
                         optimizer={"clip_norm": 0}, checkpoint={"every_steps": 1})
        for ranks in (1, 4):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            result = self.trireme("train", deck, ranks=ranks)
            self.assertEqual(result.code, 4, result.out)
            self.assertIn("not finite", result.out)
            self.assertRegex((self.folder / "run/log.txt").read_text(), "error: step 2: .*not finite")

    def test_the_log_says_why_a_save_that_had_to_be_failed(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run", "steps": 2})
        for ranks in (1, 2):
            self.refused(self.trireme("train", deck, ranks=ranks, env={"TRIREME_FAULT": "pwrite:staging_:28:0"}),
                         "was not saved", code=3)
            log = (self.folder / "run/log.txt").read_text()
            self.assertRegex(log, "error: the checkpoint of step 2 was not saved")
            shutil.rmtree(self.folder / "run")

    def test_a_failure_of_the_library_on_one_rank_is_told_and_ends_all_at_once(self):
        deck = self.long_run()
        with self.within(2):
            self.on_rank(1, TRIREME_MAX_MESSAGE_BYTES="16")  # its part of a broadcast is shorter than what comes
            result = self.trireme("train", deck, ranks=2)
        self.assertEqual(result.code, 3, result.out)
        self.assertIn("`MPI_Bcast` failed", result.out)


if __name__ == "__main__":
    main()
