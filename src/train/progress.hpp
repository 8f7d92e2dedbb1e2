// What a person sees while a run goes on: one moving line on a terminal, lines at intervals in a batch log.
#pragma once

#include <cstdint>
#include <optional>

#include "trireme/base/timer.hpp"

#include "train/metrics.hpp"

namespace trireme::train {

class Progress {
 public:
  Progress(std::int64_t first_step, std::int64_t last_step);
  /// Says where the run stands, if it is time to.
  void show(const StepMetrics& metrics);
  /// Ends the moving line, so that other output starts on a line of its own.
  void pause();

 private:
  std::int64_t first_step_;
  std::int64_t last_step_;
  bool terminal_;
  bool moving_ = false;
  Timer since_start_;
  std::optional<Timer> since_last_;
  std::optional<double> validation_loss_;
};

}  // namespace trireme::train
