#include "train/stop.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace trireme::train {
namespace {

TEST(SignalFlag, KeepsTheFirstOfABurstAndPutsHandlersBack) {
  struct sigaction before {};
  sigaction(SIGUSR1, nullptr, &before);
  {
    const SignalFlag flag;
    EXPECT_EQ(SignalFlag::received(), 0);
    std::raise(SIGUSR1);
    for (int i = 0; i < 50; ++i) std::raise(SIGTERM);
    EXPECT_EQ(SignalFlag::received(), SIGUSR1);
  }
  struct sigaction after {};
  sigaction(SIGUSR1, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(SignalFlag, OfARunIsTheOneOfTheProgram) {
  const SignalFlag outer;
  std::raise(SIGUSR2);
  {
    const SignalFlag inner;
    EXPECT_EQ(SignalFlag::received(), SIGUSR2);
  }
  std::raise(SIGTERM);  // still harmless
  EXPECT_EQ(SignalFlag::received(), SIGUSR2);
}

TEST(Walltime, WithoutALimitIsNeverDue) {
  Walltime walltime({.limit_minutes = 0, .margin_seconds = 1000});
  walltime.step_took(1e9);
  EXPECT_FALSE(walltime.due(false));
}

TEST(Walltime, LeavesRoomForAStepASaveAndTheMargin) {
  const config::WalltimeOptions options{.limit_minutes = 10, .margin_seconds = 60};
  Walltime walltime(options);
  EXPECT_FALSE(walltime.due(false));
  walltime.step_took(200);
  walltime.step_took(20);
  EXPECT_FALSE(walltime.due(false));
  walltime.save_took(335);
  EXPECT_FALSE(walltime.due(false));
  walltime.save_took(341);
  EXPECT_TRUE(walltime.due(false));
}

TEST(Walltime, IsThatOfTheDeckOrOfTheBatchSystemWhicheverIsEarlier) {
  Walltime without_limit({.limit_minutes = 0, .margin_seconds = 60});
  without_limit.ends_in(100);
  EXPECT_FALSE(without_limit.due(false));
  without_limit.step_took(41);
  EXPECT_TRUE(without_limit.due(false));
  Walltime limited({.limit_minutes = 10, .margin_seconds = 60});
  limited.ends_in(5000);
  limited.step_took(541);
  EXPECT_TRUE(limited.due(false));
}

TEST(Walltime, LeavesRoomForTheFirstSaveToo) {
  Walltime walltime({.limit_minutes = 10, .margin_seconds = 60});
  walltime.expect_save(590);
  EXPECT_TRUE(walltime.due(false));
  walltime.save_took(5);  // measured, so that nothing is assumed any more
  EXPECT_FALSE(walltime.due(false));
}

TEST(Walltime, LeavesRoomForAnEvaluationThatComesAfterTheStep) {
  Walltime walltime({.limit_minutes = 10, .margin_seconds = 60});
  walltime.step_took(100);
  walltime.expect_evaluation(4.5);
  EXPECT_FALSE(walltime.due(false));
  EXPECT_TRUE(walltime.due(true));
  walltime.evaluation_took(10);
  EXPECT_FALSE(walltime.due(true));
  walltime.evaluation_took(445);
  EXPECT_TRUE(walltime.due(true));
}

TEST(Walltime, AssumesARateOfARankAndOneOfAll) {
  EXPECT_DOUBLE_EQ(assumed_save_seconds(1e9, 1), 10);
  EXPECT_DOUBLE_EQ(assumed_save_seconds(1e9, 10), 1);
  EXPECT_DOUBLE_EQ(assumed_save_seconds(1e9, 1000), 0.5);
}

}  // namespace
}  // namespace trireme::train
