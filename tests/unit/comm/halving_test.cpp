#include "comm/halving.hpp"

#include <gtest/gtest.h>

namespace trireme::comm {
namespace {

TEST(OwnedPiece, IsTheBitReversedRankForPowersOfTwo) {
  EXPECT_EQ(owned_piece(0, 1), 0);
  EXPECT_EQ(owned_piece(1, 2), 1);
  const int expected[] = {0, 4, 2, 6, 1, 5, 3, 7};
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(owned_piece(rank, 8), expected[rank]);
}

TEST(OwnedPiece, IsTheRankForOtherCounts) {
  for (int rank = 0; rank < 6; ++rank) EXPECT_EQ(owned_piece(rank, 6), rank);
}

TEST(HalvingStep, EndsAtTheOwnedPiece) {
  const Cuts cuts{0, 3, 3, 10, 11, 20, 28, 28, 41};
  for (int rank = 0; rank < 8; ++rank) {
    const Range kept = halving_step(cuts, rank, 2).kept;
    const auto piece = static_cast<std::size_t>(owned_piece(rank, 8));
    EXPECT_EQ(kept.begin, cuts[piece]);
    EXPECT_EQ(kept.end, cuts[piece + 1]);
  }
}

TEST(HalvingStep, GivesAwayWhatThePartnerKeeps) {
  const Cuts cuts{0, 5, 6, 6, 9, 30, 31, 32, 40};
  for (int step = 0; step < 3; ++step) {
    for (int rank = 0; rank < 8; ++rank) {
      const HalvingStep mine = halving_step(cuts, rank, step);
      const HalvingStep theirs = halving_step(cuts, mine.partner, step);
      EXPECT_EQ(theirs.partner, rank);
      EXPECT_EQ(mine.given.begin, theirs.kept.begin);
      EXPECT_EQ(mine.given.end, theirs.kept.end);
    }
  }
}

TEST(HalvingStep, MeetsTheNearestPartnerFirst) {
  const Cuts cuts{0, 1, 2, 3, 4};
  EXPECT_EQ(halving_step(cuts, 1, 0).partner, 0);
  EXPECT_EQ(halving_step(cuts, 1, 1).partner, 3);
}

}  // namespace
}  // namespace trireme::comm
