#include "train/stop.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <limits>
#include <string>

#include <unistd.h>

namespace trireme::train {

namespace {

/// Seconds since this process was started, from the kernel's clock of process starts.
double process_age_s() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return 0;
  std::size_t position = end_of_name + 1;
  // The start time is field 22; the name that just ended is field 2.
  for (int field = 3; field <= 22; ++field) position = text.find_first_not_of(' ', text.find(' ', position));
  const double started_s = std::stod(text.substr(position)) / static_cast<double>(sysconf(_SC_CLK_TCK));
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::max(0.0, static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - started_s);
}

}  // namespace

Walltime::Walltime(const config::WalltimeOptions& options)
    : margin_s_(options.margin_seconds),
      end_s_(options.limit_minutes > 0 ? 60 * options.limit_minutes - process_age_s()
                                       : std::numeric_limits<double>::infinity()) {}

void Walltime::ends_in(double seconds) {
  end_s_ = std::min(end_s_, timer_.seconds() + seconds);
}

void Walltime::step_took(double seconds) {
  longest_step_s_ = std::max(longest_step_s_, seconds);
}
void Walltime::evaluation_took(double seconds) {
  longest_evaluation_s_ = std::max(longest_evaluation_s_.value_or(0), seconds);
}
void Walltime::save_took(double seconds) {
  longest_save_s_ = std::max(longest_save_s_.value_or(0), seconds);
}

bool Walltime::due(bool evaluates) const {
  const double evaluation_s = longest_evaluation_s_.value_or(expected_evaluation_steps_ * longest_step_s_);
  const double needed_s =
      longest_step_s_ + (evaluates ? evaluation_s : 0) + longest_save_s_.value_or(expected_save_s_) + margin_s_;
  return timer_.seconds() + needed_s >= end_s_;
}

double assumed_save_seconds(double bytes, int ranks) {
  constexpr double one_rank = 100e6;
  constexpr double all_ranks = 2e9;
  return bytes / std::min(one_rank * ranks, all_ranks);
}

std::string describe(StopReason reason) {
  switch (reason) {
    case StopReason::none:
      return "nothing";
    case StopReason::stop_file:
      return "the stop file";
    case StopReason::walltime:
      return "the walltime";
    case StopReason::signal:
      return "a signal";
  }
  return "";
}

}  // namespace trireme::train
