#include "bench/partners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme::bench {
namespace {

using testing::ElementsAre;

TEST(Partners, InsideAHostAreNeighboursInPairs) {
  EXPECT_THAT(partners_inside({0, 0, 0, 0}), ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(partners_inside({0, 0, 0, 1, 1}), ElementsAre(1, 0, -1, 4, 3));
  EXPECT_THAT(partners_inside({0, 1, 0, 1}), ElementsAre(2, 3, 0, 1)) << "ranks dealt out in turns";
  EXPECT_THAT(partners_inside({0, 1, 2}), ElementsAre(-1, -1, -1));
}

TEST(Partners, BetweenHostsHaveEqualPlaces) {
  EXPECT_THAT(partners_between({0, 0, 1, 1}), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(partners_between({0, 1, 0, 1}), ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(partners_between({0, 0, 0, 1}), ElementsAre(3, -1, -1, 0)) << "hosts of unequal size";
  EXPECT_THAT(partners_between({0, 1, 2}), ElementsAre(1, 0, -1)) << "an odd number of hosts";
  EXPECT_THAT(partners_between({0, 0, 0}), ElementsAre(-1, -1, -1));
}

TEST(Partners, KnowHostsAndTheFullestOfThem) {
  EXPECT_EQ(num_hosts({0, 0, 1, 2, 1, 1}), 3);
  EXPECT_EQ(ranks_per_host({0, 0, 1, 2, 1, 1}), 3);
  EXPECT_EQ(ranks_per_host({0}), 1);
}

TEST(Partners, OneRankIsOnOneHost) {
  const auto self = comm::make_self_communicator();
  EXPECT_THAT(host_numbers(*self), ElementsAre(0));
}

}  // namespace
}  // namespace trireme::bench
