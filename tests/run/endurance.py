"""Thousands of steps, evaluations and saves: nothing grows."""

import threading
import time
from pathlib import Path

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
                if ranks and path.exists():
                    step = path.read_bytes().count(b"\n")
                    files = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in ranks if Path(f"/proc/{pid}/fd").exists()]
                    memory = [rss_kib(pid) for pid in ranks]
                    samples.append((step, sum(memory), sum(files)))
                time.sleep(0.25)

        watcher = threading.Thread(target=watch)
        watcher.start()
        self.ok(self.finish(process, 200))
        watcher.join()
        settled = [s for s in samples if s[0] > 500 and s[1] > 0]
        self.assertGreater(len(settled), 5)
        late = [s for s in settled if s[0] > 1500]
        first, last = settled[0], max(late)
        slope = (last[1] - first[1]) / (last[0] - first[0]) / 2
        self.assertLess(slope, 1.0, f"KiB a step and rank: {slope}")
        self.assertLessEqual(max(s[2] for s in late), max(s[2] for s in settled[:3]) + 4)


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
