// Why a run ends before its last step.
#pragma once

#include <optional>
#include <string>

#include "trireme/base/timer.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/train/signal_flag.hpp"

namespace trireme::train {

/// The clock of the allocation: the limit of the deck, which counts from process start, and what the batch system says,
/// whichever is earlier.
class Walltime {
 public:
  explicit Walltime(const config::WalltimeOptions& options);
  /// The allocation ends so many seconds from now.
  void ends_in(double seconds);
  void step_took(double seconds);
  void evaluation_took(double seconds);
  void save_took(double seconds);
  /// What a save may take while none was measured.
  void expect_save(double seconds) { expected_save_s_ = seconds; }
  /// How much longer than a step an evaluation may take while none was measured.
  void expect_evaluation(double steps) { expected_evaluation_steps_ = steps; }
  /// True when another step, the evaluation after it (if one is) and a save might not end before the limit less the
  /// margin.
  [[nodiscard]] bool due(bool evaluates) const;

 private:
  double margin_s_ = 0;
  Timer timer_;
  double end_s_ = 0;  ///< of the timer
  double longest_step_s_ = 0;
  std::optional<double> longest_evaluation_s_;
  std::optional<double> longest_save_s_;
  double expected_save_s_ = 0;
  double expected_evaluation_steps_ = 0;
};

/// What a save of `bytes` by so many ranks may take where nothing was measured yet: 100 MB/s a rank are assumed, and
/// 2 GB/s for all of them together.
[[nodiscard]] double assumed_save_seconds(double bytes, int ranks);

/// Reasons that ranks can have, the larger winning when they differ.
enum class StopReason : int { none = 0, stop_file = 1, walltime = 2, signal = 3 };
[[nodiscard]] std::string describe(StopReason reason);

}  // namespace trireme::train
