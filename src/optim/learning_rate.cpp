#include <algorithm>
#include <cmath>
#include <numbers>

#include "trireme/optim/options.hpp"

namespace trireme::optim {
namespace {

/// How much of the way from `begin` to `begin + length` lies behind `step`: 0 ... 1.
double progress(std::int64_t step, std::int64_t begin, std::int64_t length) {
  if (length <= 0) return 1;
  return std::clamp(static_cast<double>(step - begin) / static_cast<double>(length), 0.0, 1.0);
}

/// Exactly a at weight 1 and b at weight 0.
double mix(double a, double b, double weight) {
  return weight * a + (1 - weight) * b;
}

/// First step of the decay and its length.
struct Decay {
  std::int64_t begin = 0;
  std::int64_t length = 0;
};

Decay decay_of(const LearningRateOptions& options, std::int64_t total_steps) {
  if (options.schedule != Schedule::wsd) {
    const std::int64_t length = options.decay_steps > 0 ? options.decay_steps : total_steps - options.warmup_steps;
    return {options.warmup_steps, length};
  }
  const std::int64_t wanted =
      options.decay_steps > 0 ? options.decay_steps : std::max<std::int64_t>(1, total_steps / 5);
  const std::int64_t begin = std::max(options.warmup_steps, total_steps - wanted);
  return {begin, total_steps - begin};
}

}  // namespace

double learning_rate(const LearningRateOptions& options, std::int64_t step, std::int64_t total_steps) {
  if (step <= options.warmup_steps) {
    return options.peak * (static_cast<double>(step) / static_cast<double>(options.warmup_steps));
  }
  const Decay decay = decay_of(options, total_steps);
  const double behind = progress(step, decay.begin, decay.length);
  switch (options.schedule) {
    case Schedule::constant:
      return options.peak;
    case Schedule::linear:
    case Schedule::wsd:
      return mix(options.peak, options.minimum, 1 - behind);
    case Schedule::cosine:
      return mix(options.peak, options.minimum, 0.5 * (1 + std::cos(std::numbers::pi * behind)));
  }
  return options.peak;
}

}  // namespace trireme::optim
