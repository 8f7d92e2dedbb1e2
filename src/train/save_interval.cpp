#include "train/save_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "trireme/base/units.hpp"

namespace trireme::train {
namespace {

constexpr double day_s = 86400;
/// A smaller change of the interval is not worth a line of the log.
constexpr double told_change = 0.1;

}  // namespace

double young_interval_s(double save_s, double between_failures_s) {
  return std::sqrt(2 * save_s * between_failures_s);
}

SaveInterval::SaveInterval(const checkpoint::CheckpointOptions& options, FailureRate failures)
    : options_(options), failures_(std::move(failures)) {
  if (options_.failures_per_day > 0) failures_ = {options_.failures_per_day, "`checkpoint.failures_per_day`"};
}

void SaveInterval::save_took(double stall_s, double whole_s) {
  ++num_saves_;
  stalls_s_ += stall_s;
  wholes_s_ += whole_s;
}

double SaveInterval::seconds() const {
  if (options_.every_minutes == 0) return std::numeric_limits<double>::infinity();
  if (options_.every_minutes > 0) return 60 * options_.every_minutes;
  const double whole_s = num_saves_ == 0 ? expected_s_ : wholes_s_ / num_saves_;
  return std::max(whole_s, young_interval_s(mean_stall_s(), day_s / failures_.per_day));
}

std::string SaveInterval::news() {
  if (options_.every_minutes != checkpoint::automatic_minutes) return {};
  const double now_s = seconds();
  if (std::abs(now_s - told_s_) <= told_change * told_s_) return {};
  told_s_ = now_s;
  return fmt::format(
      "a save is due {} after the last one: sqrt(2 x {} a save{} x {} between failures) (Young 1974); failures: {}",
      format_seconds(now_s), format_seconds(mean_stall_s()), num_saves_ == 0 ? " (assumed)" : "",
      format_seconds(day_s / failures_.per_day), failures_.source);
}

}  // namespace trireme::train
