// A failing system call at any moment of a save: nothing of it stays, what was there before is as it was.
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "unit/checkpoint/sample.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::checkpoint::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class FailingSave : public testing::Test {
 protected:
  FailingSave() {
    const TensorInfo tensor = sample_tensors().front();
    holding_.add(tensor, tensor::whole(tensor.shape));
  }
  ~FailingSave() override { io::set_fault_hook({}); }

  std::string save_problem(std::int64_t step) {
    try {
      save(*self_, checkpoints_, sample_metadata(step), holding_.pieces(), {});
    } catch (const SystemError& error) {
      return error.what();
    }
    return {};
  }

  /// Makes the call of that number fail, and counts them.
  void fail_call(int number, int error, const char* only = nullptr) {
    calls_ = 0;
    io::set_fault_hook([this, number, error, only](const char* call, const std::string& path, std::size_t*) {
      if (only != nullptr && std::string(call) != only) return 0;
      if (calls_++ != number) return 0;
      failed_ = std::string(call) + " " + path;
      return error;
    });
  }

  int count_calls(std::int64_t step, const char* only = nullptr) {
    fail_call(-1, 0, only);
    EXPECT_THAT(save_problem(step), IsEmpty());
    io::set_fault_hook({});
    return calls_;
  }

  void expect_each_call_harmless(std::int64_t step, int num_calls, int error, const char* only = nullptr) {
    const std::string before = contents(checkpoints_);
    for (int number = 0; number < num_calls; ++number) {
      fail_call(number, error, only);
      const std::string problem = save_problem(step);
      io::set_fault_hook({});
      EXPECT_THAT(problem,
                  AllOf(HasSubstr("was not saved"), HasSubstr("rank 0"), HasSubstr("older ones are as they were")))
          << failed_;
      ASSERT_EQ(contents(checkpoints_), before) << failed_;
    }
  }

  trireme::test::TemporaryFolder folder_;
  std::string checkpoints_ = folder_ / "checkpoints";
  std::unique_ptr<comm::Communicator> self_ = comm::make_self_communicator();
  Holding holding_;
  int calls_ = 0;
  std::string failed_;
};

TEST_F(FailingSave, AFullDiskAtAnyCallLeavesTheOldStateAlone) {
  ASSERT_THAT(save_problem(1), IsEmpty());
  const int num_calls = count_calls(2);
  io::remove_tree(step_folder(checkpoints_, 2));
  EXPECT_GT(num_calls, 20);
  expect_each_call_harmless(2, num_calls, ENOSPC);
  EXPECT_THAT(save_problem(2), IsEmpty());
  EXPECT_THAT(verify(checkpoints_), IsEmpty());
}

TEST_F(FailingSave, AStepThatWasThereKeepsItsNameWhenItsSuccessorFails) {
  ASSERT_THAT(save_problem(1), IsEmpty());
  const int num_calls = count_calls(1);
  for (const std::string& name : io::list_folder(checkpoints_)) {
    if (name.starts_with("damaged_")) io::remove_tree(checkpoints_ + "/" + name);
  }
  expect_each_call_harmless(1, num_calls, EIO);
}

TEST_F(FailingSave, TheFullDiskIsToldWithPathNeedAndFree) {
  ASSERT_THAT(save_problem(1), IsEmpty());
  fail_call(3, ENOSPC, "pwrite");
  EXPECT_THAT(save_problem(2), AllOf(HasSubstr("shard_00000.h5"), HasSubstr("No space left"), HasSubstr("needed"),
                                     HasSubstr("free"), HasSubstr("rank 0"), HasSubstr("it takes 3.")));
}

TEST_F(FailingSave, TooLittleRoomIsToldBeforeAnythingIsWritten) {
  const Shape shape{1 << 20, 1 << 20};
  const Piece huge{"weights/huge", shape, Dtype::f64, tensor::whole(shape), nullptr};
  try {
    save(*self_, checkpoints_, sample_metadata(1), {&huge, 1}, {});
    FAIL() << "8 TiB were written";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("too little room"), HasSubstr(checkpoints_), HasSubstr("needed 88"),
                                    HasSubstr("free ")));
  }
  EXPECT_THAT(io::list_folder(checkpoints_), IsEmpty());
}

TEST_F(FailingSave, ShortWritesAndInterruptionsDoNoHarm) {
  int calls = 0;
  io::set_fault_hook([&](const char* call, const std::string&, std::size_t* bytes) {
    const bool is_write = std::string(call) == "pwrite";
    if (is_write && ++calls % 3 == 0) return EINTR;
    if (is_write && *bytes > 1000) *bytes = *bytes / 2 + 1;
    return 0;
  });
  EXPECT_THAT(save_problem(1), IsEmpty());
  io::set_fault_hook({});
  EXPECT_THAT(verify(checkpoints_), IsEmpty());
}

TEST_F(FailingSave, LeftoversOfDeadAttemptsAreCleanedAway) {
  ASSERT_THAT(save_problem(1), IsEmpty());
  const std::string before = contents(checkpoints_);
  io::make_folders(checkpoints_ + "/.staging_00000002.0123abcd");
  io::write_text_atomically(checkpoints_ + "/.staging_00000002.0123abcd/shard_00000.h5", "half");
  io::make_folders(checkpoints_ + "/.removing_00000000.0123abcd");
  EXPECT_EQ(list_steps(checkpoints_), std::vector<std::int64_t>{1});
  clean_staging(checkpoints_);
  EXPECT_EQ(contents(checkpoints_), before);
  clean_staging(folder_ / "nowhere");
}

}  // namespace
}  // namespace trireme::checkpoint::test
