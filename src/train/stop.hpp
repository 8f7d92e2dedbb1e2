// Why a run ends before its last step.
#pragma once

#include <string>

#include "trireme/base/timer.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/train/signal_flag.hpp"

namespace trireme::train {

/// The clock of the allocation, as the deck states it. Counts from process start.
class Walltime {
 public:
  explicit Walltime(const config::WalltimeOptions& options);
  void step_took(double seconds);
  void save_took(double seconds);
  /// True when another step and a save might not end before the limit less the margin.
  [[nodiscard]] bool due() const;

 private:
  config::WalltimeOptions options_;
  double started_s_ = 0;  ///< between process start and construction
  Timer timer_;
  double longest_step_s_ = 0;
  double longest_save_s_ = 0;
};

/// Reasons that ranks can have, the larger winning when they differ.
enum class StopReason : int { none = 0, stop_file = 1, walltime = 2, signal = 3 };
[[nodiscard]] std::string describe(StopReason reason);

}  // namespace trireme::train
