#include "train/allocation.hpp"

#include <cstdlib>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

namespace trireme::train {
namespace {

TEST(SlurmTime, IsReadInEveryForm) {
  EXPECT_EQ(parse_slurm_time("58"), 58);
  EXPECT_EQ(parse_slurm_time("4:03"), 243);
  EXPECT_EQ(parse_slurm_time("1:00:00"), 3600);
  EXPECT_EQ(parse_slurm_time("2-01:00:05"), 2 * 86400 + 3605);
  EXPECT_EQ(parse_slurm_time("0:00"), 0);
  for (const char* const none :
       {"UNLIMITED", "INVALID", "NOT_SET", "", "4:", ":4", "1:2:3:4", "-3", "x-1:00", "1 :00"}) {
    EXPECT_EQ(parse_slurm_time(none), std::nullopt) << none;
  }
}

/// The variables of a Slurm job, put back at the end.
class TimeLeftTest : public testing::Test {
 protected:
  TimeLeftTest() { forget(); }
  ~TimeLeftTest() override { forget(); }
  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

 private:
  static void forget() {
    ::unsetenv("SLURM_JOB_ID");
    ::unsetenv("SLURM_JOB_END_TIME");
  }
};

TEST_F(TimeLeftTest, IsNoneOutsideOfAJob) {
  EXPECT_FALSE(ask_time_left({}));
}

TEST_F(TimeLeftTest, IsThatOfTheEnvironment) {
  set("SLURM_JOB_ID", "17");
  set("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 500));
  const auto left = ask_time_left({});
  ASSERT_TRUE(left);
  EXPECT_NEAR(left->seconds, 500, 3);
  EXPECT_EQ(left->source, "SLURM_JOB_END_TIME");
}

TEST_F(TimeLeftTest, IsThatOfTheCommandWhateverTheEnvironmentSays) {
  set("SLURM_JOB_ID", "17");
  set("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 500));
  const auto left = ask_time_left({.left_command = "echo \"12\"'3.5'"});
  ASSERT_TRUE(left);
  EXPECT_EQ(left->seconds, 123.5);
  EXPECT_EQ(left->source, "walltime.left_command");
}

TEST_F(TimeLeftTest, IsNoneWhereNobodyAnswersWithANumber) {
  EXPECT_FALSE(ask_time_left({.left_command = "echo soon"}));
  EXPECT_FALSE(ask_time_left({.left_command = "echo 5; exit 1"}));
  set("SLURM_JOB_ID", "17; echo 5:00");  // goes to no shell
  EXPECT_FALSE(ask_time_left({}));
}

}  // namespace
}  // namespace trireme::train
