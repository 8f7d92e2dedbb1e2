"""The work is truly split: what a rank holds falls with the grid, and does not grow with steps."""

import statistics
import threading
import time
from pathlib import Path

import numpy as np

from grid_runs import GridTest, on_grid, size_of
from harness import TINY, main


def status_kib(pid, key):
    """A figure of a process, such as VmRSS; 0 when it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def open_files(pid):
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


class GridMemory(GridTest):
    def watched(self, deck, grid, look, *words):
        """Runs the deck to its end and meanwhile calls look(process ids of all ranks) again and again."""
        process = self.start("train", deck, "run.output=run_" + grid, *on_grid(grid), *words, ranks=size_of(grid))

        def watch():
            while process.poll() is None:
                ranks = self.ranks_of(process)
                if len(ranks) == size_of(grid):
                    look(ranks)
                time.sleep(0.05)

        watcher = threading.Thread(target=watch)
        watcher.start()
        self.ok(self.finish(process))
        watcher.join()

    def test_a_quarter_of_the_ranks_work_takes_less_than_half_of_the_memory(self):
        data = self.rows(count=9, context=64, vocab=512)
        deck = self.deck(data={"train": [data]}, batch={"global": 4, "micro": 1}, run={"output": "unused", "steps": 2},
                         model={"layers": 8, "width": 1024, "heads": 8, "context": 64, "vocab": 512})
        peaks = {}
        for grid, zero in (("1x1x1", 1), ("1x4x1", 1), ("1x1x4", 1), ("4x1x1", 3)):
            peak = {}

            def look(ranks, peak=peak):
                for pid in ranks:
                    peak[pid] = max(peak.get(pid, 0), status_kib(pid, "VmHWM"))

            self.watched(deck, grid, look, f"sharding.zero_stage={zero}")
            self.assertEqual(len(peak), size_of(grid))
            peaks[grid] = max(peak.values())
        shares = {grid: peak / peaks["1x1x1"] for grid, peak in peaks.items()}
        print({grid: f"{peak / 1024:.0f} MiB, {shares[grid]:.3f}" for grid, peak in peaks.items()}, flush=True)
        for grid in ("1x4x1", "1x1x4", "4x1x1"):
            self.assertLessEqual(shares[grid], 0.45, grid)

    def test_nothing_grows_with_steps_under_tensor_and_pipeline(self):
        # Messages of 2 KiB and of 8 KiB: below and above what Open MPI sends at once.
        for grid, context in (("2x1x2", 16), ("1x2x2", 64)):
            data = self.rows(f"rows_{context}", context=context)
            deck = self.deck(TINY, data={"train": [data], "validation": [data]}, batch={"global": 4},
                             run={"output": "unused", "steps": 3000}, model={"layers": 2, "context": context},
                             evaluation={"every_steps": 50, "sequences": 4}, checkpoint={"every_steps": 100, "keep": 2})
            samples = []
            metrics = self.folder / f"run_{grid}/metrics.jsonl"

            def look(ranks, samples=samples, metrics=metrics):
                if metrics.exists():
                    samples.append((metrics.read_bytes().count(b"\n"), [status_kib(pid, "VmRSS") for pid in ranks],
                                    sum(map(open_files, ranks))))

            self.watched(deck, grid, look)
            settled = [sample for sample in samples if sample[0] > 500 and all(sample[1])]
            early = [sample for sample in settled if sample[0] <= 1750]
            late = [sample for sample in settled if sample[0] > 1750]
            self.assertGreater(min(len(early), len(late)), 3)
            for memory in zip(*(sample[1] for sample in settled), strict=True):
                slope = np.polyfit([sample[0] for sample in settled], memory, 1)[0]
                self.assertLess(slope, 1.0, f"KiB a step on one rank of {grid}: {slope}")
            files_early, files_late = (statistics.median(sample[2] for sample in part) for part in (early, late))
            self.assertLessEqual(files_late, files_early + 4)


if __name__ == "__main__":
    main()
