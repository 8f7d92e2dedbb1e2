#include <cmath>

#include <gtest/gtest.h>

#include "trireme/optim/options.hpp"

namespace trireme::optim {
namespace {

LearningRateOptions options(Schedule schedule, std::int64_t warmup, std::int64_t decay, double minimum) {
  return {.peak = 3e-4, .warmup_steps = warmup, .decay_steps = decay, .minimum = minimum, .schedule = schedule};
}

constexpr Schedule all_schedules[] = {Schedule::constant, Schedule::linear, Schedule::cosine, Schedule::wsd};

TEST(LearningRate, RisesLinearlyToExactlyThePeak) {
  for (Schedule schedule : all_schedules) {
    const LearningRateOptions o = options(schedule, 7, 0, 1e-5);
    EXPECT_DOUBLE_EQ(learning_rate(o, 1, 50), 3e-4 / 7);
    EXPECT_DOUBLE_EQ(learning_rate(o, 3, 50), 3e-4 * 3 / 7);
    EXPECT_EQ(learning_rate(o, 7, 50), 3e-4);
  }
}

TEST(LearningRate, IsExactlyTheMinimumAtTheEndAndAfter) {
  for (Schedule schedule : {Schedule::linear, Schedule::cosine, Schedule::wsd}) {
    const LearningRateOptions o = options(schedule, 3, 0, 1.7e-5);
    EXPECT_EQ(learning_rate(o, 20, 20), 1.7e-5);
    EXPECT_EQ(learning_rate(o, 99, 20), 1.7e-5);
    EXPECT_GT(learning_rate(o, 19, 20), 1.7e-5);
  }
}

TEST(LearningRate, OfConstantStaysAtThePeak) {
  EXPECT_EQ(learning_rate(options(Schedule::constant, 0, 5, 0), 1, 10), 3e-4);
  EXPECT_EQ(learning_rate(options(Schedule::constant, 0, 5, 0), 1000, 10), 3e-4);
}

TEST(LearningRate, OfLinearAndCosineFollowTheirFormulas) {
  // 5 steps of warm-up, 40 of decay: step 15 is a quarter of the way.
  const double quarter_linear = 1e-5 + 0.75 * (3e-4 - 1e-5);
  const double quarter_cosine = 1e-5 + 0.5 * (3e-4 - 1e-5) * (1 + std::sqrt(0.5));
  EXPECT_NEAR(learning_rate(options(Schedule::linear, 5, 40, 1e-5), 15, 1000), quarter_linear, 1e-18);
  EXPECT_NEAR(learning_rate(options(Schedule::cosine, 5, 40, 1e-5), 15, 1000), quarter_cosine, 1e-18);
  EXPECT_NEAR(learning_rate(options(Schedule::cosine, 5, 0, 1e-5), 15, 45), quarter_cosine, 1e-18);
}

TEST(LearningRate, OfWsdIsStableUntilTheLastFifth) {
  const LearningRateOptions o = options(Schedule::wsd, 10, 0, 0);
  EXPECT_EQ(learning_rate(o, 11, 100), 3e-4);
  EXPECT_EQ(learning_rate(o, 80, 100), 3e-4);
  EXPECT_NEAR(learning_rate(o, 85, 100), 3e-4 * 0.75, 1e-18);
  EXPECT_NEAR(learning_rate(options(Schedule::wsd, 10, 40, 0), 70, 100), 3e-4 * 0.75, 1e-18);
}

TEST(LearningRate, OfWsdBeginsItsDecayAfterTheWarmUpOfAShortRun) {
  const LearningRateOptions o = options(Schedule::wsd, 10, 40, 0);
  EXPECT_EQ(learning_rate(o, 10, 20), 3e-4);
  EXPECT_NEAR(learning_rate(o, 15, 20), 1.5e-4, 1e-18);
}

TEST(LearningRate, IsDefinedWhenNothingIsLeftToDecay) {
  EXPECT_EQ(learning_rate(options(Schedule::cosine, 20, 0, 1e-5), 20, 20), 3e-4);
  EXPECT_EQ(learning_rate(options(Schedule::cosine, 20, 0, 1e-5), 21, 20), 1e-5);
  EXPECT_EQ(learning_rate(options(Schedule::linear, 0, 0, 1e-5), 1, 1), 1e-5);
}

}  // namespace
}  // namespace trireme::optim
