#include "kernels/host/tile_product.hpp"

#include <algorithm>

#include "kernels/host/gemm_pieces.hpp"
#include "kernels/host/tile_matmul.isa.hpp"

namespace trireme::kernels::host {

#if defined(__x86_64__)

namespace {

/// As many pieces as threads can share out, none so small that packing its operands costs more than multiplying them.
constexpr std::int64_t enough_pieces_a_thread = 4;
constexpr std::int64_t smallest_piece = 128;
constexpr std::int64_t grain = 32;

struct TilePieces {
  Cut rows, columns;
};

TilePieces cut(const MatmulShape& shape, std::int64_t enough) {
  const auto pieces_of = [](std::int64_t extent, std::int64_t most) { return (extent + most - 1) / most; };
  std::int64_t rows = pieces_of(shape.m, tile_matmul_rows);
  std::int64_t columns = pieces_of(shape.n, tile_matmul_columns);
  while (rows * columns < enough) {
    const bool can_halve_rows = shape.m >= 2 * rows * smallest_piece;
    const bool can_halve_columns = shape.n >= 2 * columns * smallest_piece;
    if (!can_halve_rows && !can_halve_columns) break;
    const bool rows_are_longer = shape.m / rows > shape.n / columns;
    (can_halve_rows && (rows_are_longer || !can_halve_columns) ? rows : columns) *= 2;
  }
  return {Cut(shape.m, rows, grain), Cut(shape.n, columns, grain)};
}

}  // namespace

bool multiplies_in_tiles(device::Isa isa, Dtype dtype) {
  return isa == device::Isa::amx && dtype == Dtype::bf16;
}

void multiply_in_tiles(const device::Device& device, const MatmulShape& shape, const GemmScratch& scratch,
                       const void* a, const void* b, const void* bias, void* c) {
  const TilePieces pieces = cut(shape, enough_pieces_a_thread * device.num_threads());
  const std::int64_t num_columns = pieces.columns.num_pieces();
  device.parallel(
      pieces.rows.num_pieces() * num_columns,
      [&](std::int64_t number, int thread) {
        const std::int64_t row = number / num_columns;
        const std::int64_t column = number % num_columns;
        const std::int64_t i = pieces.rows.begin(row);
        const std::int64_t j = pieces.columns.begin(column);
        const auto of_thread = static_cast<std::size_t>(thread);
        const std::int64_t c_index = i * shape.c.row_stride + j;
        amx::tile_matmul({.m = pieces.rows.size(row),
                          .n = pieces.columns.size(column),
                          .k = shape.k,
                          .a = static_cast<const std::uint16_t*>(a) + i * shape.a.row_stride,
                          .b = static_cast<const std::uint16_t*>(b) + j * shape.b.column_stride,
                          .a_row_stride = shape.a.row_stride,
                          .a_column_stride = shape.a.column_stride,
                          .b_row_stride = shape.b.row_stride,
                          .b_column_stride = shape.b.column_stride,
                          .c = static_cast<std::byte*>(c) + static_cast<std::size_t>(c_index) * size_of(shape.c.dtype),
                          .c_stride = shape.c.row_stride,
                          .c_is_half = shape.c.dtype != Dtype::f32,
                          .adds = shape.accumulate,
                          .bias = bias == nullptr ? nullptr : static_cast<const float*>(bias) + j,
                          .packed_a = reinterpret_cast<std::uint16_t*>(scratch.a[of_thread]),
                          .packed_b = reinterpret_cast<std::uint32_t*>(scratch.b[of_thread]),
                          .sums = scratch.sum[of_thread]});
      },
      true);
}

#else

bool multiplies_in_tiles(device::Isa, Dtype) {
  return false;
}
void multiply_in_tiles(const device::Device&, const MatmulShape&, const GemmScratch&, const void*, const void*,
                       const void*, void*) {}

#endif

}  // namespace trireme::kernels::host
