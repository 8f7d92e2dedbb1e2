#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::checkpoint {
namespace {

using testing::ElementsAre;

class Rotation : public testing::Test {
 protected:
  void plant(const std::string& name) {
    io::make_folders(folder_ / name);
    io::write_text_atomically(folder_ / (name + "/index.h5"), name);
  }
  void save_steps(std::int64_t first, std::int64_t last, const CheckpointOptions& options) {
    for (std::int64_t step = first; step <= last; ++step) {
      io::make_folders(step_folder(folder_.path(), step));
      rotate(folder_.path(), options, step);
    }
  }
  [[nodiscard]] std::vector<std::int64_t> steps() const { return list_steps(folder_.path()); }

  trireme::test::TemporaryFolder folder_;
};

TEST_F(Rotation, KeepsTheNewestThreeAcrossOneMoreDigit) {
  save_steps(8, 12, {.keep = 3});
  EXPECT_THAT(steps(), ElementsAre(10, 11, 12));
}

TEST_F(Rotation, KeepsTheNewestThreeAcrossAHundred) {
  save_steps(98, 102, {.keep = 3});
  EXPECT_THAT(steps(), ElementsAre(100, 101, 102));
}

TEST_F(Rotation, OrdersNumbersBeyondEightDigits) {
  for (const std::int64_t step : {99999999, 100000000, 100000001}) io::make_folders(step_folder(folder_.path(), step));
  rotate(folder_.path(), {.keep = 2}, 100000001);
  EXPECT_THAT(steps(), ElementsAre(100000000, 100000001));
}

TEST_F(Rotation, AForeignHigherStepIsNeitherCountedNorRemoved) {
  plant("step_00000500");
  save_steps(1, 4, {.keep = 1});
  EXPECT_THAT(steps(), ElementsAre(4, 500));
}

TEST_F(Rotation, AStepThatCannotBeLookedAtIsAnErrorNotAnAbsence) {
  plant("step_00000007");
  io::set_fault_hook([](const char* call, const std::string& path, std::size_t*) {
    return std::strcmp(call, "stat") == 0 && path.ends_with("step_00000007") ? EIO : 0;
  });
  EXPECT_THROW((void)steps(), SystemError);
  io::set_fault_hook({});
}

TEST_F(Rotation, AFailedSaveRemovesNothing) {
  save_steps(8, 10, {.keep = 3});
  rotate(folder_.path(), {.keep = 3}, 10);  // step 11 never came
  EXPECT_THAT(steps(), ElementsAre(8, 9, 10));
}

TEST_F(Rotation, KeepOfNothingStillKeepsTheNewest) {
  save_steps(1, 3, {.keep = 0});
  EXPECT_THAT(steps(), ElementsAre(3));
}

TEST_F(Rotation, EveryTenthIsKeptForGood) {
  save_steps(18, 33, {.keep = 2, .keep_every_steps = 10});
  EXPECT_THAT(steps(), ElementsAre(20, 30, 32, 33));
}

TEST_F(Rotation, OtherNamesAreNeverTouched) {
  const std::vector<std::string> foreign{"step_abc", "step_1",         "step_000000001", "damaged_step_00000001.ab",
                                         "notes",    "step_00000001x", "step_-0000001"};
  for (const std::string& name : foreign) plant(name);
  io::write_text_atomically(folder_ / "step_00000001", "a file");
  std::filesystem::create_directory_symlink(folder_ / "notes", folder_ / "step_00000002");
  save_steps(3, 6, {.keep = 1});
  EXPECT_THAT(steps(), ElementsAre(6));
  for (const std::string& name : foreign) EXPECT_TRUE(io::exists(folder_ / (name + "/index.h5"))) << name;
  EXPECT_EQ(io::read_text(folder_ / "step_00000001"), "a file");
  EXPECT_TRUE(io::exists(folder_ / "step_00000002/index.h5"));
}

TEST_F(Rotation, NoFolderIsNoSteps) {
  EXPECT_THAT(list_steps(folder_ / "nowhere"), ElementsAre());
  rotate(folder_ / "nowhere", {}, 5);
}

}  // namespace
}  // namespace trireme::checkpoint
