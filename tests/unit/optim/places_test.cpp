#include "optim/places.hpp"

#include <gtest/gtest.h>

namespace trireme::optim {
namespace {

TEST(Places, AreSharedByBucketsInTurnAndOwnOtherwise) {
  device::Arena measuring;
  Places places(measuring, {100, 32, 48, 16, 0}, {{.buckets = {1, 2, 3}}});
  EXPECT_EQ(measuring.used_bytes(device::MemoryClass::buffers), (112U + 2 * 48U) * 4);
  EXPECT_EQ(&places.of(1), &places.of(3));
  EXPECT_EQ(places.of(2).size(), 2U);
  EXPECT_EQ(places.of(0).size(), 1U);
  EXPECT_TRUE(places.of(4).empty());
  EXPECT_EQ(places.idle(4), nullptr);
}

TEST(Places, AreNoMoreThanTheBucketsThatNeedOne) {
  device::Arena measuring;
  Places places(measuring, {0, 32, 0, 0}, {{.buckets = {0, 1, 9}}, {.buckets = {2, 3}}});
  EXPECT_EQ(places.of(1).size(), 1U);
  EXPECT_TRUE(places.of(3).empty());
  EXPECT_EQ(measuring.used_bytes(), 128U);
}

TEST(Places, AreTakenInTheOrderOfTheirLastUse) {
  device::Arena measuring;
  Places places(measuring, {16, 16, 16}, {{.buckets = {0, 1, 2}}});
  Place* const first = places.idle(0);
  places.take(*first, 0);
  Place* const second = places.idle(1);
  EXPECT_NE(first, second);
  places.take(*second, 1);
  EXPECT_EQ(places.idle(2), nullptr);
  places.give_back(*second);
  places.give_back(*first);
  EXPECT_EQ(places.holding(1), second) << "given back, but not yet another's";
  EXPECT_EQ(places.idle(2), second);
  places.take(*second, 2);
  EXPECT_EQ(places.holding(1), nullptr);
}

}  // namespace
}  // namespace trireme::optim
