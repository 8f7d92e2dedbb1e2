#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

#include "train/trainer.hpp"

namespace trireme::train {
namespace {

config::Deck deck_of(std::int64_t global, std::int64_t micro, bool invariant) {
  config::Deck deck;
  deck.batch = {.global = global, .micro = micro};
  deck.numerics.grid_invariant = invariant;
  return deck;
}

TEST(StepLayout, SharesMicroBatchesAndLanesEvenly) {
  const StepLayout layout = lay_out_step(deck_of(32, 1, true), 4);
  EXPECT_EQ(layout.micro_batches, 8);
  EXPECT_EQ(layout.lanes, 2);
}

TEST(StepLayout, HasOneLaneARankWithoutInvariance) {
  const StepLayout layout = lay_out_step(deck_of(32, 2, false), 4);
  EXPECT_EQ(layout.micro_batches, 4);
  EXPECT_EQ(layout.lanes, 1);
}

TEST(StepLayout, NamesTheLegalDataSizesWhenItCannotShare) {
  try {
    static_cast<void>(lay_out_step(deck_of(12, 2, false), 4));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("6 micro-batches"));
    EXPECT_THAT(error.what(), testing::HasSubstr("1, 2, 3, 6"));
  }
}

}  // namespace
}  // namespace trireme::train
