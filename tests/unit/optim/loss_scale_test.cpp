#include "trireme/optim/loss_scale.hpp"

#include <gtest/gtest.h>

namespace trireme::optim {
namespace {

TEST(LossScale, IsOneForGoodUnlessDynamic) {
  LossScale scale({.initial = 64});
  scale.step_done(false);
  scale.restore(1024, 7);
  EXPECT_EQ(scale.scale(), 1);
  EXPECT_FALSE(scale.exhausted());
}

TEST(LossScale, HalvesOnOverflowAndDoublesAfterAWindowOfGoodSteps) {
  LossScale scale({.dynamic = true, .initial = 1024, .window = 3});
  scale.step_done(false);
  EXPECT_EQ(scale.scale(), 512);
  for (int step = 0; step < 2; ++step) scale.step_done(true);
  EXPECT_EQ(scale.scale(), 512);
  EXPECT_EQ(scale.good_steps(), 2);
  scale.step_done(true);
  EXPECT_EQ(scale.scale(), 1024);
  EXPECT_EQ(scale.good_steps(), 0);
}

TEST(LossScale, AnOverflowBeginsTheWindowAnew) {
  LossScale scale({.dynamic = true, .initial = 8, .window = 2});
  scale.step_done(true);
  scale.step_done(false);
  scale.step_done(true);
  EXPECT_EQ(scale.scale(), 4);
  scale.step_done(true);
  EXPECT_EQ(scale.scale(), 8);
}

TEST(LossScale, StaysWithinItsLimits) {
  LossScale scale({.dynamic = true, .initial = 1 << 24, .window = 1});
  scale.step_done(true);
  EXPECT_EQ(scale.scale(), 1 << 24);
  LossScale low({.dynamic = true, .initial = 1, .window = 5});
  low.step_done(false);
  EXPECT_EQ(low.scale(), 1);
}

TEST(LossScale, IsExhaustedOnceGradientsOverflowAtOne) {
  LossScale scale({.dynamic = true, .initial = 1 << 24, .window = 1});
  for (int step = 0; step < 24; ++step) scale.step_done(false);
  EXPECT_EQ(scale.scale(), 1);
  EXPECT_FALSE(scale.exhausted());
  scale.step_done(false);
  EXPECT_TRUE(scale.exhausted());
  EXPECT_EQ(scale.skipped_in_a_row(), 25);
  scale.step_done(true);
  EXPECT_FALSE(scale.exhausted());
  EXPECT_EQ(scale.skipped_in_a_row(), 0);
}

TEST(LossScale, GoesOnWhereACheckpointStands) {
  LossScale straight({.dynamic = true, .initial = 256, .window = 4});
  for (const bool finite : {true, true, false, true, true}) straight.step_done(finite);
  LossScale resumed({.dynamic = true, .initial = 256, .window = 4});
  resumed.restore(straight.scale(), straight.good_steps());
  for (const bool finite : {true, true, true}) {
    straight.step_done(finite);
    resumed.step_done(finite);
    EXPECT_EQ(resumed.scale(), straight.scale());
    EXPECT_EQ(resumed.good_steps(), straight.good_steps());
  }
}

}  // namespace
}  // namespace trireme::optim
