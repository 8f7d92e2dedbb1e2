// Rules about data, evaluation, precision, learning rate and walltime.
#include <cmath>

#include <fmt/format.h>

#include "config/option.hpp"
#include "config/rules.hpp"

namespace trireme::config {
namespace {

std::string one_weight_per_file(const Deck& deck) {
  if (deck.data.weights.empty() || deck.data.weights.size() == deck.data.train.size()) return {};
  return fmt::format("does not go with the files of `data.train` ({} weights, {} files) give one weight a file",
                     deck.data.weights.size(), deck.data.train.size());
}

std::string evaluation_needs_data(const Deck& deck) {
  if (deck.evaluation.every_steps == 0 || !deck.data.validation.empty()) return {};
  return "needs `data.validation` (there is nothing to evaluate on) give files, or 0 to switch evaluation off";
}

std::string minimum_below_peak(const Deck& deck) {
  if (deck.learning_rate.minimum <= deck.learning_rate.peak) return {};
  return fmt::format("is above `learning_rate.peak = {}` (the rate falls from the peak to it) choose a smaller one",
                     text_of(Value(deck.learning_rate.peak)));
}

std::string margin_within_limit(const Deck& deck) {
  const WalltimeOptions& w = deck.walltime;
  if (w.limit_minutes == 0 || w.margin_seconds < w.limit_minutes * 60) return {};
  return fmt::format(
      "is not below `walltime.limit_minutes = {}` (the run would stop before its first step) choose a smaller "
      "margin or a longer limit",
      text_of(Value(w.limit_minutes)));
}

std::string scale_is_power_of_two(const Deck& deck) {
  int exponent = 0;
  if (std::frexp(deck.precision.loss_scale_initial, &exponent) == 0.5) return {};
  return fmt::format("is no power of two (only those scale without rounding) use {} or {}",
                     std::ldexp(1.0, exponent - 1), std::ldexp(1.0, exponent));
}

}  // namespace

Dtype PrecisionOptions::compute_type() const {
  if (compute == "bf16") return Dtype::bf16;
  return compute == "fp16" ? Dtype::f16 : Dtype::f32;
}

std::vector<Rule> run_rules() {
  return {
      {{"data.weights", "data.train"}, one_weight_per_file},
      {{"evaluation.every_steps", "data.validation"}, evaluation_needs_data},
      {{"learning_rate.minimum", "learning_rate.peak"}, minimum_below_peak},
      {{"precision.loss_scale_initial"}, scale_is_power_of_two},
      {{"walltime.margin_seconds", "walltime.limit_minutes"}, margin_within_limit},
  };
}

}  // namespace trireme::config
