// Rules across options.
#include <gmock/gmock.h>

#include "unit/config/decks.hpp"

namespace trireme::config {
namespace {

using testing::HasSubstr;

TEST(Rules, HeadsDivideTheWidthUnlessTheHeadWidthIsGiven) {
  EXPECT_EQ(
      problems_after("", {"model.heads=5"}),
      "command line: model.heads = 5: does not divide `model.width = 32` (a head has width / heads elements) choose "
      "heads that divide the width, or give `model.head_width`");
  EXPECT_EQ(problems_after("head_width = 6\n", {"model.heads=5"}), "");
}

TEST(Rules, KvHeadsDivideHeads) {
  EXPECT_THAT(problems_after("kv_heads = 3\n"),
              HasSubstr("d.toml:13: model.kv_heads = 3: does not divide `model.heads = 4`"));
  EXPECT_THAT(problems_after("kv_heads = 8\n"), HasSubstr("does not divide `model.heads = 4`"));
  EXPECT_EQ(problems_after("kv_heads = 2\n"), "");
}

TEST(Rules, RotaryPositionsNeedEvenHeads) {
  EXPECT_THAT(problems_after("position = \"rotary\"\nhead_width = 7\n"),
              HasSubstr("a head has 7) choose an even `model.head_width`"));
  EXPECT_THAT(problems_after("position = \"rotary\"\n", {"model.heads=32"}), HasSubstr("a head has 1)"));
  EXPECT_EQ(problems_after("head_width = 7\n"), "");
}

TEST(Rules, SwigluNeedsAnMlpWidth) {
  EXPECT_THAT(problems_after("activation = \"swiglu\"\n"),
              HasSubstr("d.toml:13: model.activation = \"swiglu\": needs `model.mlp_width`"));
  EXPECT_EQ(problems_after("activation = \"swiglu\"\nmlp_width = 88\n"), "");
}

TEST(Rules, MicroBatchesAreWholeAndDivideAmongRanksAndLanes) {
  EXPECT_EQ(problems_after("[grid]\ndata = 3\n", {"batch.micro=2"}),
            "d.toml:14: grid.data = 3: does not divide the 4 micro-batches of `batch.global = 8` and `batch.micro = 2` "
            "(every "
            "rank has as many) choose another batch or grid");
  EXPECT_EQ(problems_after("", {"batch.micro=3"}),
            "command line: batch.micro = 3: does not divide `batch.global = 8` (every micro-batch has the same size) "
            "choose a "
            "divisor");
  EXPECT_THAT(problems_after("[numerics]\ndata_lanes = 8\n", {"batch.micro=2"}),
              HasSubstr("does not divide the 4 micro-batches"));
  EXPECT_THAT(problems_after("[numerics]\ndata_lanes = 6\n"), HasSubstr("no power of two"));
}

TEST(Rules, WeightsGoWithFiles) {
  EXPECT_THAT(problems_after("", {"data.weights=[1.0, 2.0]"}),
              HasSubstr("(2 weights, 1 files) give one weight a file"));
  EXPECT_THAT(problems_after("", {"data.weights=[-1.0]"}), HasSubstr("out of range (must be > 0)"));
}

TEST(Rules, EvaluationNeedsData) {
  EXPECT_THAT(problems_after("[evaluation]\nevery_steps = 5\n"), HasSubstr("needs `data.validation`"));
  EXPECT_EQ(problems_after("[evaluation]\nevery_steps = 5\n", {"data.validation=[\"v.h5\"]"}), "");
}

TEST(Rules, TheLearningRateFalls) {
  EXPECT_THAT(problems_after("[learning_rate]\nminimum = 1.0\n"), HasSubstr("is above `learning_rate.peak = 0.0003`"));
  EXPECT_EQ(problems_after("[learning_rate]\nwarmup_steps = 100\n"), "");
}

TEST(Rules, TheMarginIsBelowTheLimit) {
  EXPECT_THAT(problems_after("[walltime]\nlimit_minutes = 0.5\n"),
              HasSubstr("d.toml:14: walltime.margin_seconds = 30.0: is not below `walltime.limit_minutes = 0.5`"));
  EXPECT_EQ(problems_after("[walltime]\nlimit_minutes = 0.5\nmargin_seconds = 5\n"), "");
}

TEST(Rules, AreNotJudgedOnValuesThatAreWrongThemselves) {
  EXPECT_EQ(problems_after("", {"model.heads=0"}), "command line: model.heads = 0: out of range (must be >= 1)");
  EXPECT_EQ(problems_after("", {"batch.global=0", "batch.micro=3"}),
            "command line: batch.global = 0: out of range (must be >= 1)");
}

TEST(Resolution, FillsWhatFollowsFromOtherSizes) {
  const Deck deck = deck_of();
  EXPECT_EQ(deck.model.kv_heads, 4);
  EXPECT_EQ(deck.model.head_width, 8);
  EXPECT_EQ(deck.model.mlp_width, 128);
  EXPECT_EQ(deck.model.vocab, 0);
}

TEST(Resolution, ChoosesMicroBatchesThatLanesAndRanksDivide) {
  const auto micro = [](int global, int ranks = 0) {
    return deck_of("", {"batch.global=" + std::to_string(global), "grid.data=" + std::to_string(ranks)}).batch.micro;
  };
  EXPECT_EQ(micro(8), 1);
  EXPECT_EQ(micro(16), 2);
  EXPECT_EQ(micro(24), 3);
  EXPECT_EQ(micro(24, 3), 1);
  EXPECT_EQ(micro(64), 8);
  EXPECT_EQ(micro(512), 8);
  EXPECT_EQ(micro(37), 1);
}

}  // namespace
}  // namespace trireme::config
