// The process grid as numbers: no communication.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace trireme::comm {

/// The axes of the grid, fastest first: neighbours in rank number are neighbours along tensor.
enum class Axis : std::uint8_t { tensor, data, pipeline };
inline constexpr int num_axes = 3;
[[nodiscard]] std::string_view name_of(Axis axis);

/// Extents or coordinates along each axis.
struct GridShape {
  std::array<int, num_axes> extents{1, 1, 1};
  [[nodiscard]] int operator[](Axis axis) const { return extents[static_cast<std::size_t>(axis)]; }
  int& operator[](Axis axis) { return extents[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] int size() const;
  [[nodiscard]] GridShape coordinates_of(int rank) const;
  [[nodiscard]] int rank_of(const GridShape& coordinates) const;
  /// `2x1x4` as data x tensor x pipeline.
  [[nodiscard]] std::string text() const;
  bool operator==(const GridShape&) const = default;
};

/// The deck's `grid` section; 0 means: fill with the ranks that are left.
struct GridOptions {
  int data = 0;
  int tensor = 1;
  int pipeline = 1;
};

/// Throws InputError for negative extents, and when more than one axis is 0.
void check(const GridOptions& options);

/// Fits the options to `num_ranks`. Throws InputError naming product, ranks and the legal choices.
[[nodiscard]] GridShape fit_grid(const GridOptions& options, int num_ranks);

}  // namespace trireme::comm
