#include "bench/together.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/link.hpp"

namespace trireme::bench {
namespace {

using testing::HasSubstr;

Timing timing(double median_s, double spread = 0) {
  return {.median_s = median_s, .best_s = median_s, .spread = spread, .repeats = 5};
}

TEST(OverRanks, NamesTheSlowestOfThoseThatHadAPart) {
  const OverRanks all = over_ranks("work", 6, {timing(2, 0.1), timing(5, 0.3), Timing{}, timing(3, 0.2)});
  EXPECT_EQ(all.num_ranks, 3);
  EXPECT_DOUBLE_EQ(all.min_s, 2);
  EXPECT_DOUBLE_EQ(all.median_s, 3);
  EXPECT_DOUBLE_EQ(all.max_s, 5);
  EXPECT_DOUBLE_EQ(all.spread, 0.3);
  EXPECT_EQ(all.slowest_rank, 1);
  EXPECT_DOUBLE_EQ(all.rate(), 2);
}

TEST(OverRanks, HasNoRanksWhereNobodyHadAPart) {
  EXPECT_EQ(over_ranks("work", 6, {Timing{}, Timing{}}).num_ranks, 0);
}

TEST(OverRanks, IsALineOfTheTable) {
  const OverRanks line = over_ranks("message", 3e9, {timing(1), timing(2, 0.25)});
  const std::string table = table_of_bytes({line}, {"first", "second"});
  EXPECT_THAT(table, HasSubstr("message"));
  EXPECT_THAT(table,
              HasSubstr("2.79 GiB      2  1000000.00  2000000.00  2000000.00   25.0 %      1.5        3  1 (second)"));
}

TEST(OverRanks, IsAnObjectOfTheJson) {
  const auto json = json_of_bytes({over_ranks("message", 8, {timing(2), timing(4), timing(5)})});
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0].at("what"), "message");
  EXPECT_EQ(json[0].at("bytes"), 8);
  EXPECT_EQ(json[0].at("ranks"), 3);
  EXPECT_EQ(json[0].at("min_s"), 2);
  EXPECT_EQ(json[0].at("median_s"), 4);
  EXPECT_EQ(json[0].at("max_s"), 5);
  EXPECT_EQ(json[0].at("bytes_per_s"), 2);
  EXPECT_EQ(json[0].at("slowest_rank"), 2);
}

TEST(TimeTogether, DoesNotCountTheFirstTime) {
  const auto self = comm::make_self_communicator();
  int calls = 0;
  const Timing timing = time_together(*self, 0, [&calls] { ++calls; });
  EXPECT_EQ(timing.repeats, 5);
  EXPECT_EQ(calls, 6);
}

TEST(JobText, CountsRanksAndHosts) {
  EXPECT_EQ(job_text({0}), "1 rank on 1 host");
  EXPECT_EQ(job_text({0, 1, 0, 1}), "4 ranks on 2 hosts");
}

TEST(Link, ComesFromTheSmallestAndTheLargestMessage) {
  const auto link = link_of({over_ranks("", 8, {timing(2e-6)}), over_ranks("", 100, {timing(1)}),
                             over_ranks("", 1e6 + 8, {timing(2e-6 + 1e-3)})});
  ASSERT_TRUE(link.has_value());
  EXPECT_DOUBLE_EQ(link->latency_s, 2e-6);
  EXPECT_NEAR(link->bytes_per_s, 1e9, 1);
}

TEST(Link, HasAPositiveRateWhereTheSmallestMessageTookLonger) {
  const auto link = link_of({over_ranks("", 8, {timing(2)}), over_ranks("", 1000, {timing(1)})});
  EXPECT_DOUBLE_EQ(link->bytes_per_s, 1000);
}

TEST(Link, IsNotKnownWithoutMessages) {
  EXPECT_FALSE(link_of({}).has_value());
}

}  // namespace
}  // namespace trireme::bench
