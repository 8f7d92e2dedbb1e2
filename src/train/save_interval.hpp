// How long a run goes on between two saves by the clock.
#pragma once

#include <string>

#include "trireme/checkpoint/options.hpp"

namespace trireme::train {

/// How often a job fails, and how that is known.
struct FailureRate {
  double per_day = 0;
  std::string source;  ///< for the log
};

/// The interval between the end of a save and the beginning of the next that loses the least time to saves and to work
/// done anew after failures: sqrt(2 C M) for a save of C seconds and a mean time of M seconds between failures (Young
/// 1974, `A first order approximation to the optimum checkpoint interval`; Daly 2006 gives the same to first order, but
/// for a save's own time).
[[nodiscard]] double young_interval_s(double save_s, double between_failures_s);

/// `checkpoint.every_minutes`, as a number or as Young's interval of the saves so far.
class SaveInterval {
 public:
  SaveInterval(const checkpoint::CheckpointOptions& options, FailureRate failures);
  /// What a save may cost while none was measured.
  void expect_save(double seconds) { expected_s_ = seconds; }
  /// How long training stood still for a save, and how long the save took in all.
  void save_took(double stall_s, double whole_s);
  /// Infinite when nothing is saved by the clock. Never less than a whole save has taken on the average.
  [[nodiscard]] double seconds() const;
  /// The interval and what it rests on, when it is automatic and has changed by more than a tenth since this was last
  /// asked; else empty.
  [[nodiscard]] std::string news();

 private:
  [[nodiscard]] double mean_stall_s() const { return num_saves_ == 0 ? expected_s_ : stalls_s_ / num_saves_; }

  checkpoint::CheckpointOptions options_;
  FailureRate failures_;
  double expected_s_ = 0;
  double num_saves_ = 0;
  double stalls_s_ = 0;
  double wholes_s_ = 0;
  double told_s_ = 0;
};

}  // namespace trireme::train
