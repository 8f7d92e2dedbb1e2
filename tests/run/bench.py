"""The benchmarks of ranks and disks: they end well, say positive numbers, refuse what they do not know, leave nothing."""

import json

from harness import TINY, RunTest, main


def numbers(value):
    """All numbers under a JSON value, but those that name a rank or may be 0: a spread."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("slowest_rank", "spread"):
                yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, (int, float)):
        yield value


class Bench(RunTest):
    def measure(self, *words, ranks=0):
        """The JSON object that a benchmark prints; every number of it is positive."""
        measured = json.loads(self.ok(self.trireme("bench", *words, "--json", ranks=ranks)).out)
        self.assertTrue(all(number > 0 for number in numbers(measured)), measured)
        self.assertEqual(measured["ranks"], ranks or 1)
        self.assertEqual(measured["hosts"], 1)
        return measured

    def nothing_is_left(self):
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.startswith("trireme_bench")], [])

    def test_messages_and_collectives_of_two_ranks(self):
        measured = self.measure("comm", ranks=2)
        self.assertEqual([line["bytes"] for line in measured["messages"]], [8 ** power for power in range(1, 9)])
        self.assertEqual(len(measured["collectives"]), 6)
        for line in measured["messages"] + measured["collectives"]:
            self.assertEqual(line["ranks"], 2)
            self.assertLessEqual(line["min_s"], line["median_s"])
            self.assertLessEqual(line["median_s"], line["max_s"])
        self.assertEqual(measured["collectives"][0]["bytes"], 2 ** 19, "half of the array is sent")

    def test_the_last_of_three_ranks_has_no_partner(self):
        measured = self.measure("comm", ranks=3)
        self.assertEqual({line["ranks"] for line in measured["messages"]}, {2})
        self.assertEqual({line["ranks"] for line in measured["collectives"]}, {3})

    def test_one_rank_sends_nothing(self):
        measured = self.measure("comm")
        self.assertEqual((measured["messages"], measured["collectives"]), ([], []))
        self.assertIn("one rank", self.ok(self.trireme("bench", "comm")).out)

    def test_files_of_one_rank_and_of_all(self):
        for ranks in (0, 2):
            measured = self.measure("io", "--mib", "3", ranks=ranks)
            self.assertEqual([line["ranks"] for line in measured["files"]], [1, 1, ranks or 1, ranks or 1])
            self.assertEqual({line["bytes"] for line in measured["files"]}, {3 * 2 ** 20})
            self.nothing_is_left()
        table = self.ok(self.trireme("bench", "io", "--mib", "9", ranks=2)).out
        self.assertIn("write and fsync, all", table)

    def test_a_disk_that_fails_on_one_rank_ends_all_and_leaves_nothing(self):
        self.on_rank(1, TRIREME_FAULT="pwrite:trireme_bench:28:1")
        self.refused(self.trireme("bench", "io", "--mib", "20", ranks=2), "No space left", code=3)
        self.nothing_is_left()

    def test_a_plan_reads_the_rates(self):
        deck = self.deck(TINY, data={"train": [self.rows()]}, run={"output": "run"})
        for ranks in (0, 2):
            measured = self.measure("rates", ranks=ranks)
            self.assertEqual("inside" in measured, ranks == 2)
            self.assertNotIn("outside", measured)
            self.assertEqual(measured["ranks_per_host"], ranks or 1)
            for gemm in ("gemm_flop_per_s", "gemm_bf16_flop_per_s", "gemm_fp16_flop_per_s"):
                self.assertGreater(measured[gemm], 0)
            (self.folder / "rates.json").write_text(json.dumps(measured))
            plan = self.ok(self.trireme("plan", deck, "--ranks", "2", "--rates", "rates.json")).out
            self.assertIn("tokens/s", plan)
        table = self.ok(self.trireme("bench", "rates", ranks=2)).out
        for line in ("GEMM, fp32", "GEMM, bf16", "GEMM, fp16"):
            self.assertIn(line, table)

    def test_what_is_no_benchmark_is_refused(self):
        for ranks in (0, 2):
            self.refused(self.trireme("bench", "gmem", ranks=ranks), "gmem", "gemm")
            self.refused(self.trireme("bench", "io", "--folder", "nowhere", ranks=ranks), "nowhere", "--folder")
        self.refused(self.trireme("bench", "comm", "--mib", "3"), "--mib", "bench io")
        self.refused(self.trireme("bench", "io", "--mib", "0"), "--mib")


if __name__ == "__main__":
    main()
