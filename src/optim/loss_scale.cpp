#include "trireme/optim/loss_scale.hpp"

#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"

namespace trireme::optim {
namespace {

constexpr double lowest = 1;
constexpr double highest = 1 << 24;

[[maybe_unused]] bool is_power_of_two(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5;
}

}  // namespace

LossScale::LossScale(const LossScaleOptions& options)
    : options_(options), scale_(options.dynamic ? options.initial : 1) {
  TRIREME_EXPECT(is_power_of_two(scale_) && scale_ >= lowest && scale_ <= highest);
}

bool LossScale::exhausted() const noexcept {
  return overflowed_at_lowest_;
}

void LossScale::step_done(bool finite) {
  if (!options_.dynamic) return;
  if (!finite) {
    overflowed_at_lowest_ = scale_ == lowest;
    scale_ = std::max(lowest, scale_ / 2);
    good_steps_ = 0;
    ++skipped_in_a_row_;
    return;
  }
  skipped_in_a_row_ = 0;
  overflowed_at_lowest_ = false;
  if (++good_steps_ < options_.window) return;
  good_steps_ = 0;
  scale_ = std::min(highest, 2 * scale_);
}

void LossScale::restore(double scale, std::int64_t good_steps) {
  if (!options_.dynamic) return;
  scale_ = scale;
  good_steps_ = good_steps;
}

}  // namespace trireme::optim
