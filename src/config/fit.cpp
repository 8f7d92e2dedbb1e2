#include "trireme/config/fit.hpp"

#include <algorithm>

#include "config/rules.hpp"

namespace trireme::config {
namespace {

/// The micro-batch of a deck that gives none: a multiple of 8 of them, so that grids and lanes have something to
/// divide.
std::int64_t preferred_micro(std::int64_t global) {
  constexpr std::int64_t largest = 8;
  for (std::int64_t micro = largest; micro > 1; --micro) {
    if (global % micro == 0 && global / micro % 8 == 0) return micro;
  }
  return 1;
}

}  // namespace

std::int64_t resolve_micro(const Deck& deck, int data_size) {
  if (deck.batch.micro != 0) return deck.batch.micro;
  const std::int64_t global = deck.batch.global;
  const std::int64_t lanes = std::max<std::int64_t>(1, deck.numerics.data_lanes);
  const auto fits = [&](std::int64_t micro) {
    return global % micro == 0 && global / micro % data_size == 0 && global / micro % lanes == 0;
  };
  std::int64_t micro = preferred_micro(global);
  while (micro > 1 && !fits(micro)) --micro;
  return micro;
}

void check_grid(const Deck& deck, const comm::GridShape& grid) {
  Deck on_grid = deck;
  on_grid.grid = {
      .data = grid[comm::Axis::data], .tensor = grid[comm::Axis::tensor], .pipeline = grid[comm::Axis::pipeline]};
  Problems problems;
  const Origin origin{"grid " + grid.text(), 0};
  check_rules(
      on_grid, [&](const std::string&) { return origin; }, problems);
  problems.throw_if_any();
}

}  // namespace trireme::config
