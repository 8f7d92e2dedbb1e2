#include "comm/launcher.hpp"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme::comm {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launcher> find(const Variables& variables) {
  return find_launcher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, IsNoneOnALoginNodeAndInABatchScript) {
  EXPECT_FALSE(find({}));
  EXPECT_FALSE(find({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));
}

TEST(Launcher, IsNoneInTheShellOfAnInteractiveStep) {
  EXPECT_FALSE(find({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
}

TEST(Launcher, IsMpirunEvenUnderItsSlurmDaemons) {
  const auto launcher = find({{"OMPI_COMM_WORLD_SIZE", "8"},
                              {"OMPI_COMM_WORLD_RANK", "5"},
                              {"SLURM_PROCID", "1"},
                              {"SLURM_STEP_NUM_TASKS", "2"}});
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->name, "mpirun");
  EXPECT_EQ(launcher->rank, 5);
  EXPECT_EQ(launcher->num_ranks, 8);
}

TEST(Launcher, IsSrunWithAndWithoutAWayToConnect) {
  Variables step{{"SLURM_PROCID", "3"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  auto launcher = find(step);
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->name, "srun");
  EXPECT_EQ(launcher->rank, 3);
  EXPECT_EQ(launcher->num_ranks, 4);
  EXPECT_FALSE(launcher->connects);

  step.emplace("PMIX_RANK", "3");
  launcher = find(step);
  ASSERT_TRUE(launcher);
  EXPECT_TRUE(launcher->connects);
}

TEST(Launcher, TakesTheTasksOfTheJobWhenTheStepDoesNotSay) {
  const auto launcher = find({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "2"}, {"SLURM_NTASKS", "6"}});
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->num_ranks, 6);
}

TEST(Launcher, IsHydraByItsPmiVariables) {
  const auto launcher = find({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}});
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->rank, 1);
  EXPECT_EQ(launcher->num_ranks, 3);
  EXPECT_TRUE(find({{"PMIX_RANK", "0"}}));
  EXPECT_TRUE(find({{"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "0"}}));
}

TEST(Launcher, RefusalNamesTheRemedies) {
  const std::string text = unconnected_message({"srun", 0, 4, false});
  EXPECT_THAT(text, testing::HasSubstr("`srun` started 4 ranks, but MPI sees each of them alone"));
  EXPECT_THAT(text, testing::HasSubstr("srun --mpi=pmix"));
  EXPECT_THAT(text, testing::HasSubstr("mpirun"));
}

}  // namespace
}  // namespace trireme::comm
