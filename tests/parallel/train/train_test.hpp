// What the tests of the whole grid share.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "parallel/train/training.hpp"

namespace trireme::testing {

/// Ends the process, and so the job, with the case's name when the case takes longer than any case may: a hang.
class Watchdog {
 public:
  explicit Watchdog(const std::string& what);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
};

/// Datasets in a folder of its own, and one-rank trainings to compare with.
class TrainTest : public ::testing::Test {
 protected:
  TrainTest();
  ~TrainTest() override;

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// Runs `work` on as many of the first ranks as the case's grid has, the others wait. Collective over world.
  void on_first_ranks(const Case& what, const std::function<void(comm::Communicator& group)>& work) const;
  /// Six steps and an evaluation. Collective over world; the state is on rank 0, others have an empty outcome.
  [[nodiscard]] Outcome train(const Case& what) const;
  /// The outcome of the case on one rank, made once for all cases that have the same. Collective over world.
  [[nodiscard]] const Outcome& reference(const Case& what);
  /// What is wrong with the case's outcome: bits that are promised, or closeness; empty when nothing is, and on all
  /// ranks but 0. Collective over world.
  [[nodiscard]] std::string check(const Case& what);

 private:
  std::string folder_;
  std::map<std::string, Outcome> references_;
};

}  // namespace trireme::testing
