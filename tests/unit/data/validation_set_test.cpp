#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/data/loader.hpp"

#include "unit/data/datasets.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::data {
namespace {

using test::counting;
using test::write_dataset;

constexpr std::int64_t context = 8;

class ValidationSetTest : public testing::Test {
 protected:
  Dataset dataset(std::int64_t num_tokens) {
    write_dataset(folder_ / "a.h5", {.tokens = counting(num_tokens)});
    write_dataset(folder_ / "b.h5", {.tokens = counting(num_tokens + 3, 10000)});
    return open_dataset({folder_ / "a.h5", folder_ / "b.h5"}, context);
  }

  test::TemporaryFolder folder_;
};

/// How often each target is counted over all parts.
std::map<std::int32_t, int> counted_targets(const Dataset& dataset, std::int64_t micro_batch, int num_parts,
                                            std::int64_t count) {
  std::map<std::int32_t, int> counted;
  for (int part = 0; part < num_parts; ++part) {
    const ValidationSet set(dataset, context, micro_batch, part, num_parts, count);
    for (std::int64_t round = 0; round < set.num_rounds(); ++round) {
      const Batch batch = set.batch(round);
      EXPECT_EQ(batch.sequences, micro_batch);
      for (std::size_t i = 0; i < batch.targets.size(); ++i) {
        if (batch.weights[i] == 0) continue;
        EXPECT_EQ(batch.targets[i], batch.input[i] + 1);
        ++counted[batch.targets[i]];
      }
    }
  }
  return counted;
}

TEST_F(ValidationSetTest, CountsEveryTargetExactlyOnceForEveryNumberOfParts) {
  for (std::int64_t num_tokens = 9; num_tokens <= 45; num_tokens += 3) {
    const Dataset files = dataset(num_tokens);
    for (const int num_parts : {1, 2, 3, 4, 8}) {
      for (const std::int64_t micro_batch : {1, 2, 3}) {
        const auto counted = counted_targets(files, micro_batch, num_parts, 0);
        ASSERT_EQ(counted.size(), static_cast<std::size_t>(2 * num_tokens + 1)) << num_tokens << " in " << num_parts;
        for (const auto& [target, times] : counted) ASSERT_EQ(times, 1) << target;
        ASSERT_EQ(counted.begin()->first, 1);
        ASSERT_EQ(counted.rbegin()->first, 10000 + num_tokens + 2);
      }
    }
  }
}

TEST_F(ValidationSetTest, HasTheSameNumberOfRoundsOnEveryPart) {
  const Dataset files = dataset(45);
  const ValidationSet first(files, context, 2, 0, 4, 0);
  for (int part = 1; part < 4; ++part) {
    EXPECT_EQ(ValidationSet(files, context, 2, part, 4, 0).num_rounds(), first.num_rounds());
  }
  EXPECT_EQ(first.num_rounds(), 2);  // 6 + 6 windows in rounds of 8
}

TEST_F(ValidationSetTest, FillsShortWindowsAndMissingSequencesWithWeightZero) {
  const ValidationSet set(dataset(11), context, 8, 0, 1, 0);  // windows of 8 + 2 and 8 + 5 targets
  ASSERT_EQ(set.num_rounds(), 1);
  const Batch batch = set.batch(0);
  EXPECT_EQ(batch.counted(), 23);
  EXPECT_EQ(batch.samples, (std::vector<std::int64_t>{0, 1, 2, 3, -1, -1, -1, -1}));
  for (std::size_t i = 4 * context; i < batch.weights.size(); ++i) EXPECT_EQ(batch.weights[i], 0);
  EXPECT_EQ(batch.positions[3 * context + 7], 7);
}

TEST_F(ValidationSetTest, TakesOnlyTheLeadingSequencesThatWereAskedFor) {
  const Dataset files = dataset(45);
  const auto counted = counted_targets(files, 2, 2, 3);
  EXPECT_EQ(counted.size(), static_cast<std::size_t>(3 * context));
  EXPECT_EQ(counted.rbegin()->first, 3 * context);
  EXPECT_EQ(counted_targets(files, 2, 2, 1000).size(), 91U);
}

TEST_F(ValidationSetTest, GivesTheSameBatchAgain) {
  const ValidationSet set(dataset(45), context, 2, 1, 2, 0);
  EXPECT_EQ(set.batch(1).input, set.batch(1).input);
  EXPECT_EQ(set.batch(1).samples, set.batch(1).samples);
}

}  // namespace
}  // namespace trireme::data
