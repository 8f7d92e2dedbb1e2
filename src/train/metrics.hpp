// metrics.jsonl: one JSON object a step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/io/file.hpp"

namespace trireme::train {

struct StepMetrics {
  std::int64_t step = 0;  ///< updates done, from 1
  double loss = 0;
  double grad_norm = 0;
  double learning_rate = 0;
  double loss_scale = 1;
  std::int64_t skipped = 0;  ///< so far
  std::int64_t tokens = 0;   ///< counted tokens so far
  double step_time_s = 0;
  double tokens_per_s = 0;  ///< whole job
  double mfu = 0;
  std::int64_t memory_bytes = 0;  ///< peak resident memory of the largest rank
  std::optional<double> validation_loss;
  std::vector<std::int64_t> rows;  ///< global sample numbers, if asked for
};

/// Appends to the file, flushed line by line. Opening it for a run that goes on from `step` drops lines of later steps
/// and a line that was cut, so each step stands once: the last attempt.
///
/// A line that cannot be written is left out, and what was written of it is removed: that is warned of once, and the
/// next line is tried again. The run goes on.
class MetricsFile {
 public:
  MetricsFile(const std::string& path, std::int64_t step);
  void write(const StepMetrics& metrics);
  /// 1 for the first start of a run, then counting.
  [[nodiscard]] std::int64_t attempt() const noexcept { return attempt_; }

 private:
  void append(const std::string& line);

  std::int64_t attempt_ = 1;
  std::unique_ptr<io::File> file_;
  std::uint64_t whole_bytes_ = 0;  ///< of whole lines
  bool cut_ = false;               ///< a part of a line may stand after them
  bool warned_ = false;
};

}  // namespace trireme::train
