// Who exchanges what with whom when the number of ranks is a power of two.
#pragma once

#include <cstdint>

#include "trireme/comm/tree.hpp"

namespace trireme::comm {

[[nodiscard]] constexpr bool is_power_of_two(int number) {
  return number > 0 && (number & (number - 1)) == 0;
}

/// Exponent of a power of two.
[[nodiscard]] constexpr int log2_of(int power) {
  int exponent = 0;
  while ((1 << exponent) < power) ++exponent;
  return exponent;
}

/// A range of elements.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// One step of recursive halving: of what a rank held before, it keeps one half and gives the other to its partner.
struct HalvingStep {
  int partner = 0;
  Range kept;
  Range given;
};

/// Step `step` (from 0: the nearest partner, rank ^ 1; then rank ^ 2, rank ^ 4, ...) of `rank`. Halves are halves of
/// the number of pieces; a set bit of the rank keeps the upper one.
[[nodiscard]] HalvingStep halving_step(const Cuts& cuts, int rank, int step);

}  // namespace trireme::comm
