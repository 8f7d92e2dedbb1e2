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
  EXPECT_FALSE(walltime.due());
}

TEST(Walltime, LeavesRoomForAStepASaveAndTheMargin) {
  const config::WalltimeOptions options{.limit_minutes = 10, .margin_seconds = 60};
  Walltime walltime(options);
  EXPECT_FALSE(walltime.due());
  walltime.step_took(200);
  walltime.step_took(20);
  EXPECT_FALSE(walltime.due());
  walltime.save_took(335);
  EXPECT_FALSE(walltime.due());
  walltime.save_took(341);
  EXPECT_TRUE(walltime.due());
}

}  // namespace
}  // namespace trireme::train
