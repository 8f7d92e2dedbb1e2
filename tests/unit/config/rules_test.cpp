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

TEST(Rules, DropoutGoesAsFarAsItsElementsAreCounted) {
  EXPECT_THAT(
      problems_after("dropout = 0.1\n", {"model.context=16777216", "model.heads=8"}),
      HasSubstr("d.toml:13: model.dropout = 0.1: is not possible with `model.context = 16777216`, `model.heads = "
                "8` and `model.width = 32` (heads * context"));
  EXPECT_EQ(problems_after("dropout = 0.1\n", {"model.context=16777216", "model.heads=1", "model.head_width=8"}), "");
  EXPECT_THAT(problems_after("dropout = 0.1\n", {"model.layers=21846"}), HasSubstr("up to 21845 layers"));
  EXPECT_EQ(problems_after("", {"model.context=16777216", "model.layers=21846"}), "");
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

}  // namespace
}  // namespace trireme::config
