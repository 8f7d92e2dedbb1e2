#include "kernels/host/gemm_pieces.hpp"

#include <algorithm>
#include <bit>

namespace trireme::kernels::host {

namespace {

// Found by measurement; the table stands in src/kernels/README.md.
struct Limits {
  std::int64_t rows;  // a piece has at most so many
  std::int64_t columns;
  std::int64_t min_rows;  // and is not halved below these
  std::int64_t min_columns;
  std::int64_t depth;
};

constexpr std::int64_t enough_blocks = 8;  // for 2, 4 or 8 threads
constexpr std::int64_t many_blocks = 16;   // from here on an uneven share costs little
constexpr std::int64_t row_grain = 8;      // the library's register tile is 8 x 48
constexpr std::int64_t column_grain = 48;
constexpr std::int64_t depth_grain = 64;

// A piece kept in half precision: the library sums it in fp32, in the thread's scratch.
constexpr std::int64_t half_rows = 256;
constexpr std::int64_t half_columns = 768;

Limits limits_of(Product product) {
  switch (product) {
    case Product::forward:
      return {.rows = max_piece_rows, .columns = 1024, .min_rows = 256, .min_columns = 192, .depth = max_piece_depth};
    case Product::backward_input:
      return {.rows = max_piece_rows, .columns = 1024, .min_rows = 128, .min_columns = 384, .depth = max_piece_depth};
    case Product::backward_weight:
      return {.rows = max_piece_rows, .columns = 1024, .min_rows = 64, .min_columns = 192, .depth = 512};
  }
  return {};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// A power of two while the pieces are few, so that 2, 4 and 8 threads get equal shares.
std::int64_t num_even(std::int64_t extent, std::int64_t most) {
  const std::int64_t pieces = ceil_div(extent, most);
  return pieces < many_blocks ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(pieces))) : pieces;
}

}  // namespace

Cut::Cut(std::int64_t extent, std::int64_t num_pieces, std::int64_t grain)
    : extent_(extent),
      size_(std::min(extent, ceil_div(ceil_div(extent, num_pieces), grain) * grain)),
      num_pieces_(ceil_div(extent, size_)) {}

std::int64_t Cut::size(std::int64_t piece) const noexcept {
  return std::min(size_, extent_ - begin(piece));
}

Pieces cut_product(Product product, std::int64_t m, std::int64_t n, std::int64_t k, bool whole_depth) {
  Limits limits = limits_of(product);
  if (whole_depth) {
    limits.rows = half_rows;
    limits.columns = half_columns;
  }
  std::int64_t rows = num_even(m, limits.rows);
  std::int64_t columns = num_even(n, limits.columns);
  while (rows * columns < enough_blocks) {
    const bool can_halve_rows = m >= 2 * rows * limits.min_rows;
    const bool can_halve_columns = n >= 2 * columns * limits.min_columns;
    if (!can_halve_rows && !can_halve_columns) break;
    const bool rows_are_longer = m / rows > n / columns;
    (can_halve_rows && (rows_are_longer || !can_halve_columns) ? rows : columns) *= 2;
  }
  return {.rows = Cut(m, rows, row_grain),
          .columns = Cut(n, columns, column_grain),
          .depth = Cut(k, whole_depth ? 1 : ceil_div(k, limits.depth), depth_grain)};
}

}  // namespace trireme::kernels::host
