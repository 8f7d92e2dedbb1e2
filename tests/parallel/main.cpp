// GoogleTest over MPI ranks. Rank 0 prints the usual lines, others only their failures; a case that failed on any rank
// fails the run on all.
#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include "trireme/comm/mpi_runtime.hpp"

#include "parallel/parallel.hpp"

namespace {

using trireme::comm::Communicator;

class RanksListener : public testing::EmptyTestEventListener {
 public:
  explicit RanksListener(Communicator& world) : world_(world) {}

  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    if (world_.rank() != 0) {
      std::fprintf(stderr, "rank %d: %s:%d: %s\n", world_.rank(), result.file_name() ? result.file_name() : "unknown",
                   result.line_number(), result.message());
    }
    // A case that was left early (ASSERT, an exception) leaves the other ranks waiting for messages that never come.
    if (result.fatally_failed() && world_.size() > 1) world_.abort(1);
  }

  void OnTestEnd(const testing::TestInfo& info) override {
    const bool failed_anywhere = world_.any(info.result()->Failed());
    failed_ = failed_ || failed_anywhere;
    if (failed_anywhere && world_.rank() == 0 && !info.result()->Failed()) {
      std::printf("[  FAILED  ] %s.%s on another rank\n", info.test_suite_name(), info.name());
    }
  }

  Communicator& world_;
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  trireme::comm::MpiRuntime mpi(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  trireme::testing::set_world(mpi.world());

  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  auto* const ranks = new RanksListener(mpi.world());  // the listeners own it
  if (mpi.world().rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(ranks);
  const int result = RUN_ALL_TESTS();
  return result != 0 || ranks->failed() ? 1 : 0;
}
