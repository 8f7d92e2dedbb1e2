#include "config/rules.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "trireme/model/options.hpp"

#include "config/options.hpp"

namespace trireme::config {
namespace {

/// A rule: its options, and what is wrong (empty: nothing). The first option is the one that the message is about.
struct Rule {
  std::vector<std::string> keys;
  std::string (*fault)(const Deck&);
};

std::string heads_divide_width(const Deck& deck) {
  const model::ModelOptions& m = deck.model;
  if (m.head_width != 0 || m.width % m.heads == 0) return {};
  return fmt::format(
      "does not divide `model.width = {}` (a head has width / heads elements) choose heads that divide the "
      "width, or give `model.head_width`",
      m.width);
}

std::string kv_heads_divide_heads(const Deck& deck) {
  const model::ModelOptions& m = deck.model;
  if (m.kv_heads == 0 || m.heads % m.kv_heads == 0) return {};
  return fmt::format(
      "does not divide `model.heads = {}` (each is shared by heads / kv_heads query heads) choose a divisor", m.heads);
}

std::string rotary_needs_even_heads(const Deck& deck) {
  const model::ModelOptions& m = deck.model;
  if (m.position != model::Position::rotary) return {};
  const std::int64_t head_width = m.head_width != 0 ? m.head_width : m.width / m.heads;
  if (head_width % 2 == 0) return {};
  return fmt::format(
      "does not go with an odd head (rotary positions turn pairs of elements, a head has {}) choose an even "
      "`model.head_width`",
      head_width);
}

std::string swiglu_needs_mlp_width(const Deck& deck) {
  const model::ModelOptions& m = deck.model;
  if (m.activation != model::Activation::swiglu || m.mlp_width != 0) return {};
  return fmt::format(
      "needs `model.mlp_width` (with three matrices 4 * width is not the usual size) give e.g. 8 / 3 of the "
      "width, {}",
      std::max<std::int64_t>(1, (m.width * 8 / 3 + 7) / 8 * 8));
}

std::string micro_divides_global(const Deck& deck) {
  if (deck.batch.global % deck.batch.micro == 0) return {};
  return fmt::format("does not divide `batch.global = {}` (every micro-batch has the same size) choose a divisor",
                     deck.batch.global);
}

/// 0, which everything divides, when the batch itself is wrong: that is told by its own rule.
std::int64_t micro_batches(const Deck& deck) {
  const data::BatchOptions& b = deck.batch;
  return b.global % b.micro != 0 ? 0 : b.global / b.micro;
}

std::string data_axis_divides_micro_batches(const Deck& deck) {
  const std::int64_t count = micro_batches(deck);
  if (deck.grid.data == 0 || count % deck.grid.data == 0) return {};
  return fmt::format(
      "does not divide the {} micro-batches of `batch.global = {}` and `batch.micro = {}` (every rank has "
      "as many) choose another batch or grid",
      count, deck.batch.global, deck.batch.micro);
}

std::string lanes_are_a_power_of_two(const Deck& deck) {
  const std::int64_t lanes = deck.numerics.data_lanes;
  if (lanes == 0 || std::has_single_bit(static_cast<std::uint64_t>(lanes))) return {};
  return "no power of two (lanes are added in a binary tree) choose 1, 2, 4, 8, ...";
}

std::string lanes_divide_micro_batches(const Deck& deck) {
  const std::int64_t lanes = deck.numerics.data_lanes;
  const std::int64_t count = micro_batches(deck);
  if (lanes == 0 || count % lanes == 0) return {};
  return fmt::format(
      "does not divide the {} micro-batches of `batch.global = {}` and `batch.micro = {}` (every lane has as "
      "many) choose a divisor",
      count, deck.batch.global, deck.batch.micro);
}

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

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {{"model.heads", "model.width", "model.head_width"}, heads_divide_width},
      {{"model.kv_heads", "model.heads"}, kv_heads_divide_heads},
      {{"model.position", "model.head_width", "model.width", "model.heads"}, rotary_needs_even_heads},
      {{"model.activation", "model.mlp_width", "model.width"}, swiglu_needs_mlp_width},
      {{"batch.micro", "batch.global"}, micro_divides_global},
      {{"grid.data", "batch.global", "batch.micro"}, data_axis_divides_micro_batches},
      {{"numerics.data_lanes"}, lanes_are_a_power_of_two},
      {{"numerics.data_lanes", "batch.global", "batch.micro"}, lanes_divide_micro_batches},
      {{"data.weights", "data.train"}, one_weight_per_file},
      {{"evaluation.every_steps", "data.validation"}, evaluation_needs_data},
      {{"learning_rate.minimum", "learning_rate.peak"}, minimum_below_peak},
      {{"walltime.margin_seconds", "walltime.limit_minutes"}, margin_within_limit},
  };
  return all;
}

}  // namespace

void check_rules(const Deck& deck, const std::function<Origin(const std::string& key)>& origin_of, Problems& problems) {
  for (const Rule& rule : rules()) {
    const auto doubtful = [&](const std::string& key) { return problems.doubts(key); };
    if (std::any_of(rule.keys.begin(), rule.keys.end(), doubtful)) continue;
    const std::string fault = rule.fault(deck);
    if (fault.empty()) continue;
    Origin origin = origin_of(rule.keys.front());
    for (std::size_t i = 1; i < rule.keys.size() && origin.line == missing_order; ++i) origin = origin_of(rule.keys[i]);
    const std::string value = text_of(find_option(rule.keys.front())->place.get(deck));
    problems.add({origin.where, origin.line, rule.keys.front() + " = " + value, fault});
  }
}

}  // namespace trireme::config
