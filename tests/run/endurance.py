"""Thousands of steps, evaluations and saves: nothing grows."""

import statistics
import threading
import time
from pathlib import Path

import numpy as np

from harness import TINY, RunTest, main


class Endurance(RunTest):
    def test_memory_does_not_grow_with_steps(self):
        data = self.rows()
        deck = self.deck(TINY, data={"train": [data], "validation": [data]}, run={"output": "run", "steps": 3000},
                         evaluation={"every_steps": 50}, checkpoint={"every_steps": 100, "keep": 2})
        process = self.start("train", deck, ranks=2)
        samples = []

        def watch():
            while process.poll() is None:
                ranks = self.ranks_of(process)
                path = self.folder / "run/metrics.jsonl"
                if len(ranks) == 2 and path.exists():
                    step = path.read_bytes().count(b"\n")
                    files = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in ranks if Path(f"/proc/{pid}/fd").exists()]
                    memory = [rss_kib(pid) for pid in ranks]
                    samples.append((step, memory, sum(files)))
                time.sleep(0.1)

        watcher = threading.Thread(target=watch)
        watcher.start()
        self.ok(self.finish(process))
        watcher.join()
        settled = [s for s in samples if s[0] > 500 and all(s[1])]
        early = [s for s in settled if s[0] <= 1750]
        late = [s for s in settled if s[0] > 1750]
        self.assertGreater(min(len(early), len(late)), 3)
        # However dense the samples are, a save that is under way in a few of them moves neither fit nor median.
        slope = np.polyfit([s[0] for s in settled], [sum(s[1]) / 2 for s in settled], 1)[0]
        self.assertLess(slope, 1.0, f"KiB a step and rank: {slope}")
        files_early, files_late = (statistics.median(s[2] for s in part) for part in (early, late))
        self.assertLessEqual(files_late, files_early + 4)


def rss_kib(pid):
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


if __name__ == "__main__":
    main()
