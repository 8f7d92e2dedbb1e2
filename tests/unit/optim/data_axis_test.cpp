#include "trireme/optim/data_axis.hpp"

#include <string>

#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

namespace trireme::optim {
namespace {

TEST(Group, IsOneRankWithoutShardingAndTheWholeAxisByDefault) {
  EXPECT_EQ(resolve_group({.zero_stage = 0, .group = 0}, 8), 1);
  EXPECT_EQ(resolve_group({.zero_stage = 1, .group = 0}, 8), 8);
  EXPECT_EQ(resolve_group({.zero_stage = 3, .group = 4}, 8), 4);
  EXPECT_EQ(resolve_group({.zero_stage = 2, .group = 1}, 7), 1);
}

TEST(Group, IsRefusedWithBothKeysAndTheLegalNumbers) {
  const auto refusal = [](int group, int data_size) -> std::string {
    try {
      return std::to_string(resolve_group({.zero_stage = 1, .group = group}, data_size));
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal(4, 6),
            "`sharding.group` is `4` (it does not divide the 6 data ranks of `grid.data`) use one of 0 (all), 1, 2, 3, "
            "6");
  EXPECT_EQ(refusal(2, 1),
            "`sharding.group` is `2` (it does not divide the 1 data rank of `grid.data`) use one of 0 (all), 1");
  EXPECT_EQ(refusal(-2, 4).substr(0, 27), "`sharding.group` is `-2` (i");
}

TEST(DataAxis, GroupsConsecutiveRanks) {
  for (int rank = 0; rank < 6; ++rank) {
    const auto axis = comm::make_planned_communicator(rank, 6);
    const DataAxis groups(*axis, 3);
    EXPECT_EQ(groups.whole().size(), 6);
    EXPECT_EQ(groups.inside().size(), 3);
    EXPECT_EQ(groups.inside().rank(), rank % 3);
    EXPECT_EQ(groups.across().size(), 2);
    EXPECT_EQ(groups.across().rank(), rank / 3);
    EXPECT_EQ(groups.counts(), rank < 3);
    const DataAxis one(*axis);
    EXPECT_EQ(one.inside().rank(), rank);
    EXPECT_EQ(one.across().size(), 1);
    EXPECT_TRUE(one.counts());
  }
}

}  // namespace
}  // namespace trireme::optim
