#include "trireme/optim/lanes.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

#include "optim/lane_sum.hpp"

namespace trireme::optim {
namespace {

std::string refusal(std::int64_t requested, std::int64_t num_micro_batches, int data_size) {
  try {
    return std::to_string(resolve_lanes(requested, num_micro_batches, data_size, true));
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Lanes, AreTheLargestPowerOfTwoUpToEightWhenInvariant) {
  EXPECT_EQ(resolve_lanes(0, 32, 1, true), 8);
  EXPECT_EQ(resolve_lanes(0, 32, 4, true), 8);
  EXPECT_EQ(resolve_lanes(0, 12, 2, true), 4);
  EXPECT_EQ(resolve_lanes(0, 7, 1, true), 1);
}

TEST(Lanes, AreOneForEachDataRankWhenTheGridCannotShareThem) {
  EXPECT_EQ(resolve_lanes(0, 24, 3, true), 3);
  EXPECT_EQ(resolve_lanes(0, 16, 16, true), 16);
  EXPECT_EQ(resolve_lanes(0, 32, 4, false), 4);
}

TEST(Lanes, AreTakenAsRequested) {
  EXPECT_EQ(resolve_lanes(16, 32, 2, true), 16);
  EXPECT_EQ(resolve_lanes(1, 5, 1, false), 1);
}

TEST(Lanes, AreRefusedWithTheKeysAndTheLegalNumbers) {
  EXPECT_EQ(refusal(6, 24, 2),
            "`numerics.data_lanes` is `6` (lanes are added in a binary tree, so they are a power of two) use one of 0 "
            "(automatic), 2, 4, 8");
  EXPECT_EQ(refusal(16, 24, 1),
            "`numerics.data_lanes` is `16` (it does not divide the 24 micro-batches of a step, `batch.global` / "
            "`batch.micro`) use one of 0 (automatic), 1, 2, 4, 8");
  EXPECT_EQ(refusal(2, 32, 4),
            "`numerics.data_lanes` is `2` (each of the 4 data ranks of `grid.data` adds up whole lanes) use one of 0 "
            "(automatic), 4, 8, 16, 32");
  EXPECT_THAT(refusal(-4, 8, 1), testing::HasSubstr("`-4` (lanes are added in a binary tree"));
}

TEST(LaneSum, AddsLanesInABalancedTree) {
  const device::Device device({});
  for (std::size_t levels = 0; levels < 5; ++levels) {
    std::vector<std::vector<float>> memory(levels + 1, std::vector<float>(3));
    std::vector<float*> buffers;
    for (auto& buffer : memory) buffers.push_back(buffer.data());
    LaneSum sum(buffers, 3);
    const std::size_t num_lanes = std::size_t{1} << levels;
    for (int step = 0; step < 2; ++step) {
      std::vector<float> expected;
      sum.begin_step();
      for (std::size_t lane = 0; lane < num_lanes; ++lane) {
        const float value = 1.0F / static_cast<float>(3 + 7 * lane + static_cast<std::size_t>(step));
        expected.push_back(value);
        for (int i = 0; i < 3; ++i) sum.current()[i] = value;
        sum.lane_done(device);
      }
      for (; expected.size() > 1; expected.resize(expected.size() / 2)) {
        for (std::size_t i = 0; i < expected.size() / 2; ++i) expected[i] = expected[2 * i] + expected[2 * i + 1];
      }
      for (int i = 0; i < 3; ++i) EXPECT_EQ(sum.current()[i], expected[0]);
    }
  }
}

}  // namespace
}  // namespace trireme::optim
