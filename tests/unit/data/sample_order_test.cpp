#include "trireme/data/sample_order.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/data/datasets.hpp"

namespace trireme::data {
namespace {

using test::message_of;
using testing::HasSubstr;
using Counts = std::map<std::pair<int, std::int64_t>, int>;

Counts counts_of(const SampleOrder& order, std::int64_t begin, std::int64_t end) {
  Counts counts;
  for (std::int64_t number = begin; number < end; ++number) {
    const SampleId id = order.at(number);
    ++counts[{id.file, id.sample}];
  }
  return counts;
}

TEST(SampleOrder, HoldsEachSampleOnceInEveryEpoch) {
  for (std::int64_t size = 1; size <= 40; ++size) {
    for (const std::int64_t block : {1, 3, 256}) {
      const SampleOrder order({size}, {}, block, 9);
      ASSERT_EQ(order.epoch_samples(), size);
      for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        const Counts counts = counts_of(order, epoch * size, (epoch + 1) * size);
        ASSERT_EQ(counts.size(), static_cast<std::size_t>(size)) << "size " << size << " block " << block;
        ASSERT_EQ(counts.begin()->first.second, 0);
        ASSERT_EQ(counts.rbegin()->first.second, size - 1);
      }
    }
  }
}

TEST(SampleOrder, HoldsTheSamplesOfAllFiles) {
  const SampleOrder order({3, 1, 5}, {}, 2, 1);
  const Counts counts = counts_of(order, 0, 9);
  EXPECT_EQ(counts.size(), 9U);
  for (const auto& [id, count] : counts) {
    EXPECT_EQ(count, 1);
    EXPECT_LT(id.second, (std::vector<std::int64_t>{3, 1, 5})[static_cast<std::size_t>(id.first)]);
  }
}

TEST(SampleOrder, DiffersFromEpochToEpochAndFromSeedToSeed) {
  const SampleOrder order({40}, {}, 1, 1);
  const SampleOrder other({40}, {}, 1, 2);
  int same_in_next_epoch = 0;
  int same_with_other_seed = 0;
  int in_place = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    same_in_next_epoch += order.at(i) == order.at(i + 40) ? 1 : 0;
    same_with_other_seed += order.at(i) == other.at(i) ? 1 : 0;
    in_place += order.at(i).sample == i ? 1 : 0;
  }
  EXPECT_LT(same_in_next_epoch, 8);
  EXPECT_LT(same_with_other_seed, 8);
  EXPECT_LT(in_place, 8);
}

TEST(SampleOrder, KeepsTheSamplesOfABlockTogether) {
  constexpr std::int64_t block = 8;
  const SampleOrder order({5 * block}, {}, block, 4);
  std::vector<std::int64_t> blocks;
  for (std::int64_t i = 0; i < 5 * block; i += block) {
    blocks.push_back(order.at(i).sample / block);
    for (std::int64_t j = 1; j < block; ++j) EXPECT_EQ(order.at(i + j).sample / block, blocks.back());
  }
  EXPECT_FALSE(std::is_sorted(blocks.begin(), blocks.end()));
}

TEST(SampleOrder, PutsTheShortBlockAtEveryPlaceInTurn) {
  std::set<std::int64_t> places;
  const SampleOrder order({3 * 4 + 1}, {}, 4, 2);
  for (std::int64_t epoch = 0; epoch < 60; ++epoch) {
    for (std::int64_t i = 0; i < 13; ++i) {
      if (order.at(epoch * 13 + i).sample == 12) places.insert(i);
    }
  }
  EXPECT_EQ(places, (std::set<std::int64_t>{0, 4, 8, 12}));
}

TEST(SampleOrder, ReachesPlacesAboveTwoToThe32) {
  const std::int64_t huge = (std::int64_t{1} << 40) + 7;
  const SampleOrder order({huge}, {}, 256, 1);
  std::set<std::int64_t> seen;
  for (std::int64_t i = huge - 500; i < huge; ++i) {
    const SampleId id = order.at(i);
    ASSERT_TRUE(id.sample >= 0 && id.sample < huge);
    seen.insert(id.sample);
  }
  EXPECT_EQ(seen.size(), 500U);
}

TEST(WeightedOrder, GivesExactSharesInEveryCycle) {
  const SampleOrder order({50, 7, 11}, {0.5, 0.2, 0.3}, 4, 3);
  for (std::int64_t cycle = 0; cycle < 3; ++cycle) {
    std::vector<int> shares(3, 0);
    for (std::int64_t i = 0; i < 10000; ++i) ++shares[static_cast<std::size_t>(order.at(cycle * 10000 + i).file)];
    EXPECT_EQ(shares, (std::vector<int>{5000, 2000, 3000}));
  }
}

TEST(WeightedOrder, GivesTheLargestRemainderTheLastSlots) {
  const SampleOrder order({5, 5, 5}, {1, 1, 1}, 1, 3);
  std::vector<int> shares(3, 0);
  for (std::int64_t i = 0; i < 10000; ++i) ++shares[static_cast<std::size_t>(order.at(i).file)];
  EXPECT_EQ(shares, (std::vector<int>{3334, 3333, 3333}));
}

TEST(WeightedOrder, RunsEachFileThroughWholeEpochs) {
  const SampleOrder order({25, 40}, {0.75, 0.25}, 3, 8);  // 7500 = 300 epochs of 25; 2500 = 62.5 epochs of 40
  const Counts counts = counts_of(order, 0, 10000);
  for (const auto& [id, count] : counts) {
    if (id.first == 0) {
      EXPECT_EQ(count, 300);
    }
    if (id.first == 1) {
      EXPECT_TRUE(count == 62 || count == 63) << count;
    }
  }
}

TEST(WeightedOrder, NeverReadsAFileOfWeightZero) {
  const SampleOrder order({25, 40}, {0, 2}, 3, 8);
  for (std::int64_t i = 0; i < 500; ++i) EXPECT_EQ(order.at(i).file, 1);
  EXPECT_EQ(order.epoch_samples(), 10000);
}

TEST(WeightedOrder, MixesTheFilesWithinACycle) {
  const SampleOrder order({100, 100}, {1, 1}, 4, 1);
  int first_file = 0;
  for (std::int64_t i = 0; i < 100; ++i) first_file += order.at(i).file == 0 ? 1 : 0;
  EXPECT_GT(first_file, 20);
  EXPECT_LT(first_file, 80);
}

TEST(WeightedOrder, RefusesWeightsThatShareNothing) {
  const auto message = [](const std::vector<double>& weights) {
    return message_of([&] { (void)SampleOrder({5, 5}, weights, 1, 1); });
  };
  EXPECT_THAT(message({1}), HasSubstr("has 1 numbers (there are 2 training files)"));
  EXPECT_THAT(message({1, -0.5}), HasSubstr("`-0.5`"));
  EXPECT_THAT(message({0, 0}), HasSubstr("at least one weight"));
  EXPECT_THAT(message({1, std::numeric_limits<double>::quiet_NaN()}), HasSubstr("finite"));
  EXPECT_THAT(message({1, 1e-9}), HasSubstr("too small"));
  EXPECT_THAT(message_of([] { (void)SampleOrder({5}, {}, 0, 1); }), HasSubstr("`data.shuffle_block` is `0`"));
}

}  // namespace
}  // namespace trireme::data
