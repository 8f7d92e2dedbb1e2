#pragma once

#include <cstdint>

namespace trireme::optim {

/// The deck's `optimizer` section (AdamW).
struct OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1;  ///< 0: no clipping
};

enum class Schedule : std::uint8_t { constant, linear, cosine, wsd };

/// The deck's `learning_rate` section.
struct LearningRateOptions {
  double peak = 3e-4;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  ///< cosine, linear: steps from the end of warm-up to `minimum` (0: to run.steps); wsd:
                                 ///< length of the final decay (0: a fifth of run.steps)
  double minimum = 0;
  Schedule schedule = Schedule::cosine;
};

/// The deck's `sharding` section.
struct ShardingOptions {
  int zero_stage = 1;  ///< shared out: 0 nothing, 1 moments, 2 gradients too, 3 weights too
  int group = 0;       ///< ranks of the data axis that share one copy; 0: all
};

/// The learning rate of the update that makes step `step` (from 1) of `total_steps`: a pure function.
///
/// Warm-up: peak * step / warmup_steps for step <= warmup_steps. After it, with x = 0 ... 1 the share of the decay that
/// lies behind, exact at both ends:
///   constant: peak;  linear and wsd: (1 - x) peak + x minimum;
///   cosine: c peak + (1 - c) minimum, c = (1 + cos(pi x)) / 2.
/// The decay of wsd ends at total_steps, that of the others begins at the end of warm-up; after it the rate is minimum.
[[nodiscard]] double learning_rate(const LearningRateOptions& options, std::int64_t step, std::int64_t total_steps);

}  // namespace trireme::optim
