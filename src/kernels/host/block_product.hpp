// Products of small matrices that lie in the first cache, for attention: c += a b with sums in registers.
//
// Each element is one chain of fused steps in ascending order of the summed index, so that no blocking changes its
// bits.
#pragma once

#include "kernels/host/simd.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

/// Rows are given in multiples of this.
inline constexpr std::int64_t product_rows = 8;

#if defined(TRIREME_ISA_IS_AVX512)
inline constexpr int register_rows = 8, register_vectors = 3;
#elif defined(TRIREME_ISA_IS_AVX2)
inline constexpr int register_rows = 4, register_vectors = 1;
#else
inline constexpr int register_rows = 2, register_vectors = 1;
#endif

/// How the left operand lies: element (row, n) at a[row * stride + n], or at a[n * stride + row].
enum class Left { rows, columns };
enum class Begin { zero, sum };

struct ProductOperands {
  const float* a;
  std::int64_t a_stride;
  const float* b;  // element (n, column) at b[n * b_stride + column]
  std::int64_t b_stride;
  float* c;
  std::int64_t c_stride;
};

template <Left left, Begin begin, int vectors>
TRIREME_INLINE void register_block(const ProductOperands& p, std::int64_t length) {
  F32x16 sums[register_rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < register_rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = begin == Begin::zero ? zero() : load(p.c + r * p.c_stride + 16 * v);
    }
  }
  const float* b = p.b;
  for (std::int64_t n = 0; n < length; ++n, b += p.b_stride) {
    F32x16 right[vectors];
    for (int v = 0; v < vectors; ++v) right[v] = load(b + 16 * v);
#pragma GCC unroll 8
    for (int r = 0; r < register_rows; ++r) {
      const F32x16 factor = broadcast(left == Left::rows ? p.a[r * p.a_stride + n] : p.a[n * p.a_stride + r]);
      for (int v = 0; v < vectors; ++v) sums[r][v] = fma(factor, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < register_rows; ++r) {
    for (int v = 0; v < vectors; ++v) store(p.c + r * p.c_stride + 16 * v, sums[r][v]);
  }
}

template <Left left, Begin begin, int vectors>
void product_columns(ProductOperands p, std::int64_t rows, std::int64_t length) {
  for (std::int64_t row = 0; row < rows; row += register_rows) {
    register_block<left, begin, vectors>(p, length);
    p.a += left == Left::rows ? register_rows * p.a_stride : register_rows;
    p.c += register_rows * p.c_stride;
  }
}

/// c (set or added to) = a b. rows: a multiple of product_rows; vectors: columns / 16; length: of the sums.
template <Left left, Begin begin>
void product(ProductOperands p, std::int64_t rows, std::int64_t vectors, std::int64_t length) {
  while (vectors > 0) {
    // Four are two pairs: one vector alone would leave the multipliers waiting for each other.
    const std::int64_t group = vectors == 4 ? 2 : vectors;
    if (group >= 3 && register_vectors >= 3) {
      product_columns<left, begin, register_vectors>(p, rows, length);
    } else if (group >= 2 && register_vectors >= 2) {
      product_columns<left, begin, register_vectors >= 2 ? 2 : 1>(p, rows, length);
    } else {
      product_columns<left, begin, 1>(p, rows, length);
    }
    const std::int64_t done = group < register_vectors ? group : register_vectors;
    p.b += 16 * done;
    p.c += 16 * done;
    vectors -= done;
  }
}

}  // namespace trireme::kernels::host::TRIREME_ISA
