#include "bench/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme::bench {
namespace {

TEST(Summarize, GivesMedianBestAndQuartileDistance) {
  const Timing timing = summarize({5, 1, 3, 2, 4});
  EXPECT_DOUBLE_EQ(timing.median_s, 3);
  EXPECT_DOUBLE_EQ(timing.best_s, 1);
  EXPECT_DOUBLE_EQ(timing.spread, (4.0 - 2.0) / 3.0);
  EXPECT_EQ(timing.repeats, 5);
}

TEST(Summarize, TakesOneTime) {
  const Timing timing = summarize({0.5});
  EXPECT_DOUBLE_EQ(timing.median_s, 0.5);
  EXPECT_DOUBLE_EQ(timing.spread, 0);
}

TEST(MeasureInTurns, LetsEachRowWarmUpAndWorkInEveryRound) {
  std::vector<int> order;
  std::vector<Row> rows(2);
  for (int i = 0; i < 2; ++i) rows[static_cast<std::size_t>(i)].work = [&order, i] { order.push_back(i); };
  measure_in_turns(rows, 0);
  for (const Row& row : rows) EXPECT_GE(row.timing.repeats, 5);
  EXPECT_THAT(order, testing::Contains(1));
  int changes = 0;
  for (std::size_t i = 1; i < order.size(); ++i) changes += order[i] != order[i - 1] ? 1 : 0;
  EXPECT_EQ(changes, 9) << "five rounds of two rows";
}

}  // namespace
}  // namespace trireme::bench
