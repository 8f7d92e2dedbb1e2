// One piece of a product of bf16 matrices on one thread, in the processor's tile registers.
#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

inline constexpr std::int64_t tile_matmul_rows = 512;     ///< of C, at most
inline constexpr std::int64_t tile_matmul_columns = 512;  ///< likewise
inline constexpr std::int64_t tile_matmul_depth = 1024;   ///< of the summed index that is packed at once

/// C [m, n] (set or added) = A [m, k] B [k, n] (+ bias [n]). Each element's sum over k runs in order, in fp32, and is
/// complete before it is added to C.
struct TileMatmul {
  std::int64_t m, n, k;
  const std::uint16_t *a, *b;  ///< bf16; element (i, j) at i * row_stride + j * column_stride, one of which is 1
  std::int64_t a_row_stride, a_column_stride, b_row_stride, b_column_stride;
  void* c;  ///< row-major, fp32 or bf16
  std::int64_t c_stride;
  bool c_is_half, adds;
  const float* bias;        ///< or nullptr
  std::uint16_t* packed_a;  ///< room for tile_matmul_rows x tile_matmul_depth, on 64 bytes
  std::uint32_t* packed_b;  ///< for tile_matmul_depth / 2 x tile_matmul_columns, likewise
  float* sums;              ///< for tile_matmul_rows x tile_matmul_columns, likewise
};

TRIREME_AMX_DECLARE(void tile_matmul(const TileMatmul& p))

}  // namespace trireme::kernels::host
