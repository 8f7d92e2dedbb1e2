#include "trireme/comm/mpi_runtime.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

namespace trireme::comm {
namespace {

TEST(MpiRuntime, MakesNoMpiCallOutsideOfALauncher) {
  if (started_by_launcher()) GTEST_SKIP() << "the test itself was started by a launcher";
  int argc = 0;
  char** argv = nullptr;
  MpiRuntime mpi(argc, argv);
  EXPECT_EQ(mpi.world().size(), 1);
}

TEST(MpiRuntime, TellsItsVersionInOneLine) {
  const std::string version = mpi_version();
  EXPECT_FALSE(version.empty());
  EXPECT_EQ(version.find('\n'), std::string::npos);
}

TEST(MpiRuntime, RefusesRanksThatTheLauncherDoesNotConnect) {
  if (started_by_launcher()) GTEST_SKIP() << "the test itself was started by a launcher";
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  int argc = 0;
  char** argv = nullptr;
  try {
    const MpiRuntime mpi(argc, argv);
    ADD_FAILURE() << "four ranks, each alone";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("`srun` started 4 ranks, but MPI sees each of them alone"));
  }
  unsetenv("SLURM_PROCID");
  unsetenv("SLURM_STEP_NUM_TASKS");
}

}  // namespace
}  // namespace trireme::comm
