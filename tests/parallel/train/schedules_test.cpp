// Every schedule on 2x2x2 with short and long messages. Where no send is buffered, a schedule that relies on buffering
// does not end.
#include <cstdlib>

#include <gtest/gtest.h>

#include "parallel/parallel.hpp"
#include "parallel/pmpi_shim.hpp"
#include "parallel/train/train_test.hpp"

namespace trireme::testing {
namespace {

class Schedules : public TrainTest {
 protected:
  /// Rows of a message have 128 bytes.
  void expect_equal_bits(const std::vector<std::string>& sizes) {
    if (world().size() < 8) GTEST_SKIP() << "needs 8 ranks";
    for (const char* const schedule : {"naive", "gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_h2"}) {
      Case what{Base::tiny,
                {"grid.data=2", "grid.tensor=2", "grid.pipeline=2", "numerics.grid_invariant=true",
                 std::string("pipeline.schedule=") + schedule}};
      if (std::string(schedule) == "interleaved") what = what.with({"pipeline.chunks=2"});
      EXPECT_EQ(check(what.with(sizes)), "") << schedule;
    }
    const bool synchronous = std::getenv("TRIREME_TEST_SYNCHRONOUS") != nullptr;
    EXPECT_EQ(synchronous_sends() > 0, synchronous);
  }
};

TEST_F(Schedules, OfMessagesThatFitInABuffer) {
  expect_equal_bits({"model.context=16"});  // 8 rows, 1 KiB
}

TEST_F(Schedules, OfMessagesThatDoNot) {
  expect_equal_bits({"model.context=64", "batch.global=16", "batch.micro=2"});  // 64 rows, 8 KiB
}

TEST_F(Schedules, OfMessagesInHalfPrecision) {
  expect_equal_bits({"model.context=64", "batch.global=16", "batch.micro=4", "precision.compute=bf16"});  // 8 KiB
}

}  // namespace
}  // namespace trireme::testing
