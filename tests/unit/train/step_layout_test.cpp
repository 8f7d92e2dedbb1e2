#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/train/layout.hpp"

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

TEST(StepLayout, SharesGradientsFromZeroTwoOnButNotWhereLanesRunOverSeveralMicroBatches) {
  const auto shares = [](std::int64_t zero_stage, bool invariant, int data_size) {
    config::Deck deck = deck_of(32, 2, invariant);
    deck.sharding.zero_stage = zero_stage;
    return lay_out_step(deck, data_size).shares_gradients;
  };
  EXPECT_FALSE(shares(1, false, 4));
  EXPECT_TRUE(shares(2, false, 4));
  EXPECT_TRUE(shares(3, false, 4));
  EXPECT_FALSE(shares(3, true, 4));
  EXPECT_TRUE(shares(2, true, 16));
}

TEST(ScheduleOf, IsThePlainOneOnOneStageWhateverTheDeckSays) {
  config::Deck deck = deck_of(32, 2, false);
  deck.pipeline = {.schedule = "interleaved", .chunks = 2, .layers_per_stage = {}};
  const pipeline::ScheduleShape one = schedule_of(deck, {{1, 4, 1}});
  EXPECT_EQ(one.kind, pipeline::ScheduleKind::one_forward_one_backward);
  EXPECT_EQ(one.stages, 1);
  EXPECT_EQ(one.chunks, 1);
  EXPECT_EQ(one.micro_batches, 4);
  const pipeline::ScheduleShape three = schedule_of(deck, {{1, 4, 3}});
  EXPECT_EQ(three.kind, pipeline::ScheduleKind::interleaved);
  EXPECT_EQ(three.stages, 3);
  EXPECT_EQ(three.chunks, 2);
}

TEST(ChunksOf, AreEveryStagesPartsInTheOrderOfTheModel) {
  config::Deck deck;
  deck.model = model::resolved({.layers = 9, .width = 32, .heads = 4, .context = 16, .vocab = 90});
  deck.pipeline.layers_per_stage = {1, 2, 1, 2, 1, 2};
  const pipeline::ScheduleShape schedule{
      .kind = pipeline::ScheduleKind::interleaved, .stages = 3, .chunks = 2, .micro_batches = 6};
  const std::vector<model::ChunkRange> chunks = chunks_of(deck, schedule, 1);
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[0], (model::ChunkRange{.first_block = 1, .num_blocks = 2}));
  EXPECT_EQ(chunks[1], (model::ChunkRange{.first_block = 6, .num_blocks = 1}));
  EXPECT_EQ(chunks_of(deck, {}, 0), std::vector{model::whole_model(deck.model)}) << "one stage has all";
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
