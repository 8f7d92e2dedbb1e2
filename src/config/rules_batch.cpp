// Rules about the batch: micro-batches, and who shares them.
#include <algorithm>

#include <fmt/format.h>

#include "trireme/base/text.hpp"
#include "trireme/config/fit.hpp"
#include "trireme/optim/data_axis.hpp"
#include "trireme/optim/lanes.hpp"

#include "config/rules.hpp"

namespace trireme::config {
namespace {

/// The divisors of a number; of many the first ones and the last.
std::string divisors_text(std::int64_t number) {
  constexpr std::size_t shown = 12;
  std::vector<std::string> texts;
  for (std::int64_t divisor = 1; divisor <= number / divisor; ++divisor) {
    if (number % divisor == 0) texts.push_back(std::to_string(divisor));
  }
  for (std::size_t i = texts.size(); i-- > 0;) {
    const std::int64_t other = number / std::stoll(texts[i]);
    if (other != std::stoll(texts[i])) texts.push_back(std::to_string(other));
  }
  if (texts.size() > shown) {
    texts.erase(texts.begin() + shown - 1, texts.end() - 1);
    texts.insert(texts.end() - 1, "...");
  }
  return join(texts);
}

int data_ranks(const Deck& deck) {
  return std::max(1, deck.grid.data);
}

/// 0, which everything divides, when the batch itself is wrong: that is told by its own rule.
std::int64_t micro_batches(const Deck& deck) {
  const std::int64_t micro = resolve_micro(deck, data_ranks(deck));
  return deck.batch.global % micro != 0 ? 0 : deck.batch.global / micro;
}

std::string micro_divides_global(const Deck& deck) {
  const data::BatchOptions& b = deck.batch;
  if (b.micro == 0 || b.global % b.micro == 0) return {};
  return fmt::format("does not divide `batch.global = {}` (every micro-batch has the same size) choose one of {}",
                     b.global, divisors_text(b.global));
}

std::string data_axis_divides_micro_batches(const Deck& deck) {
  const data::BatchOptions& b = deck.batch;
  const std::int64_t data = data_ranks(deck);
  const std::int64_t count = micro_batches(deck);
  if (count % data == 0) return {};
  if (b.micro == 0) {
    return fmt::format("does not divide `batch.global = {}` (every rank has as many sequences) choose one of {}",
                       b.global, divisors_text(b.global));
  }
  const std::string other_micro =
      b.global % data == 0 ? fmt::format(", or `batch.micro` of {}", divisors_text(b.global / data)) : "";
  return fmt::format(
      "does not divide the {} micro-batches of `batch.global = {}` and `batch.micro = {}` (every rank has as many) "
      "choose one of {}{}",
      count, b.global, b.micro, divisors_text(count), other_micro);
}

std::string lanes_divide_micro_batches(const Deck& deck) {
  const std::int64_t count = micro_batches(deck);
  const int data = data_ranks(deck);
  if (count % data != 0) return {};
  return refusal_of([&] {
    static_cast<void>(optim::resolve_lanes(deck.numerics.data_lanes, count, data, deck.numerics.grid_invariant));
  });
}

std::string group_needs_sharding(const Deck& deck) {
  if (deck.sharding.group == 0 || deck.sharding.zero_stage > 0) return {};
  return "needs `sharding.zero_stage` of 1 to 3 (with 0 every rank keeps everything) raise it, or set the group to 0";
}

std::string group_divides_data_axis(const Deck& deck) {
  if (deck.grid.data == 0) return {};
  return refusal_of([&] { static_cast<void>(optim::resolve_group(deck.sharding, deck.grid.data)); });
}

}  // namespace

std::vector<Rule> batch_rules() {
  return {
      {{"batch.micro", "batch.global"}, micro_divides_global},
      {{"grid.data", "batch.global", "batch.micro", "numerics.data_lanes"}, data_axis_divides_micro_batches},
      {{"numerics.data_lanes", "batch.global", "batch.micro", "grid.data"}, lanes_divide_micro_batches, true},
      {{"sharding.group", "sharding.zero_stage"}, group_needs_sharding},
      {{"sharding.group", "grid.data", "sharding.zero_stage"}, group_divides_data_axis, true},
  };
}

}  // namespace trireme::config
