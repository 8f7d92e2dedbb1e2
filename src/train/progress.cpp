#include "train/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <unistd.h>

#include "trireme/base/log.hpp"
#include "trireme/base/units.hpp"

namespace trireme::train {

namespace {

constexpr double terminal_interval_s = 0.2;
constexpr double log_interval_s = 10;

/// Launchers give their ranks a terminal of their own; only if the parent writes to a real one does a person look on.
bool a_person_looks_on() {
  if (isatty(STDOUT_FILENO) != 1) return false;
  const std::string parent_output = fmt::format("/proc/{}/fd/1", getppid());
  char target[256] = {};
  const ssize_t length = readlink(parent_output.c_str(), target, sizeof(target) - 1);
  const std::string_view name(target, length > 0 ? static_cast<std::size_t>(length) : 0);
  return name.starts_with("/dev/pts/") || name.starts_with("/dev/tty") || name == "/dev/console";
}

std::string bar(double share) {
  constexpr int width = 20;
  const int full = static_cast<int>(share * width);
  return std::string(static_cast<std::size_t>(full), '=') + std::string(static_cast<std::size_t>(width - full), '.');
}

}  // namespace

Progress::Progress(std::int64_t first_step, std::int64_t last_step)
    : first_step_(first_step), last_step_(last_step), terminal_(a_person_looks_on()) {}

void Progress::show(const StepMetrics& metrics) {
  if (metrics.validation_loss) validation_loss_ = metrics.validation_loss;
  const bool last = metrics.step == last_step_;
  const double interval = terminal_ ? terminal_interval_s : log_interval_s;
  if (!last && since_last_ && since_last_->seconds() < interval) return;
  since_last_.emplace();

  const double done = static_cast<double>(metrics.step - first_step_);
  const double left_s = since_start_.seconds() / std::max(1.0, done) * static_cast<double>(last_step_ - metrics.step);
  const std::string validation = validation_loss_ ? fmt::format("  validation {:.4f}", *validation_loss_) : "";
  const std::string line = fmt::format(
      "step {}/{}  loss {:.4f}{}  norm {:.3f}  lr {:.2e}  {} tokens/s  mfu {:.0f} %  left {}", metrics.step, last_step_,
      metrics.loss, validation, metrics.grad_norm, metrics.learning_rate,
      format_count(static_cast<std::uint64_t>(metrics.tokens_per_s)), 100 * metrics.mfu, format_seconds(left_s));
  if (!terminal_) {
    log::info("{}", line);
    return;
  }
  const double share = static_cast<double>(metrics.step) / static_cast<double>(std::max<std::int64_t>(1, last_step_));
  fmt::print("\r[{}] {}\033[K", bar(share), line);
  std::fflush(stdout);
  moving_ = true;
  if (last) pause();
}

void Progress::pause() {
  if (!moving_) return;
  fmt::print("\n");
  std::fflush(stdout);
  moving_ = false;
}

}  // namespace trireme::train
