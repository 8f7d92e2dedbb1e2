// The dynamic loss scale of fp16 (Micikevicius et al. 2018).
#pragma once

#include <cstdint>

namespace trireme::optim {

struct LossScaleOptions {
  bool dynamic = false;        ///< false: the scale is 1 for good
  double initial = 65536;      ///< a power of two
  std::int64_t window = 1000;  ///< updates without overflow after which it doubles
};

/// A power of two that multiplies all gradients, so that small ones are above the smallest numbers of the format; what
/// it multiplies is divided by it again without rounding. It halves when a gradient overflows (that step is not
/// updated) and doubles after a window of good steps, within 1 ... 2^24.
class LossScale {
 public:
  explicit LossScale(const LossScaleOptions& options);

  [[nodiscard]] double scale() const noexcept { return scale_; }
  /// Since the scale last changed.
  [[nodiscard]] std::int64_t good_steps() const noexcept { return good_steps_; }
  [[nodiscard]] std::int64_t skipped_in_a_row() const noexcept { return skipped_in_a_row_; }
  /// True when no smaller scale will help: gradients overflowed at 1. From the largest scale that takes 25 steps.
  [[nodiscard]] bool exhausted() const noexcept;

  /// Tells it whether the gradients of a step were finite. The same on all ranks.
  void step_done(bool finite);
  /// Goes on where a checkpoint stands.
  void restore(double scale, std::int64_t good_steps);

 private:
  LossScaleOptions options_;
  double scale_;
  std::int64_t good_steps_ = 0;
  std::int64_t skipped_in_a_row_ = 0;
  bool overflowed_at_lowest_ = false;
};

}  // namespace trireme::optim
