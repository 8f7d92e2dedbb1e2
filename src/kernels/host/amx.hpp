// Products of bf16 matrices in the processor's tile registers (AMX): blocks of 16 x 16 sums in fp32, 32 of the summed
// index at a time. Included by files that are compiled for it only.
#pragma once

#include <immintrin.h>

#include "kernels/host/block_product.hpp"
#include "kernels/host/integers.hpp"
#include "kernels/host/transpose.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

inline constexpr std::int64_t tile_depth = 32;  // of the summed index in one instruction

/// GCC's intrinsics do not tell the compiler what memory they read.
TRIREME_INLINE void settle_memory() {
  asm volatile("" ::: "memory");
}

/// The tile registers of this thread, all of 16 rows of 64 bytes, while it lives.
class TileRegisters {
 public:
  TileRegisters() {
    alignas(64) std::uint8_t config[64] = {1};  // palette 1
    for (int tile = 0; tile < 8; ++tile) {
      config[16 + 2 * tile] = 64;  // bytes a row, the lower half
      config[48 + tile] = 16;      // rows
    }
    settle_memory();
    _tile_loadconfig(config);
  }
  ~TileRegisters() { _tile_release(); }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

struct TileOperands {
  const std::uint16_t* a;  // bf16; element (row, n) at a[row * a_stride + n]
  std::int64_t a_stride;
  const std::uint32_t*
      b;  // elements (2 n, column) and, in the upper half, (2 n + 1, column) at b[n * b_stride + column]
  std::int64_t b_stride;
  float* c;
  std::int64_t c_stride;
};

/// c[16][16 * vectors] (set or added to) = a b, over 32 * steps of the summed index. vectors: 1 to 4.
template <Begin begin, int vectors>
TRIREME_INLINE void tile_block(const TileOperands& p, std::int64_t steps) {
  const std::int64_t c_bytes = 4 * p.c_stride;
  settle_memory();
  if constexpr (begin == Begin::zero) {
    _tile_zero(0);
    if constexpr (vectors > 1) _tile_zero(1);
    if constexpr (vectors > 2) _tile_zero(2);
    if constexpr (vectors > 3) _tile_zero(3);
  } else {
    _tile_loadd(0, p.c, c_bytes);
    if constexpr (vectors > 1) _tile_loadd(1, p.c + 16, c_bytes);
    if constexpr (vectors > 2) _tile_loadd(2, p.c + 32, c_bytes);
    if constexpr (vectors > 3) _tile_loadd(3, p.c + 48, c_bytes);
  }
  const std::uint32_t* b = p.b;
  for (std::int64_t step = 0; step < steps; ++step, b += 16 * p.b_stride) {
    _tile_loadd(4, p.a + 32 * step, 2 * p.a_stride);
    _tile_loadd(5, b, 4 * p.b_stride);
    _tile_dpbf16ps(0, 4, 5);
    if constexpr (vectors > 1) {
      _tile_loadd(6, b + 16, 4 * p.b_stride);
      _tile_dpbf16ps(1, 4, 6);
    }
    if constexpr (vectors > 2) {
      _tile_loadd(7, b + 32, 4 * p.b_stride);
      _tile_dpbf16ps(2, 4, 7);
    }
    if constexpr (vectors > 3) {
      _tile_loadd(5, b + 48, 4 * p.b_stride);
      _tile_dpbf16ps(3, 4, 5);
    }
  }
  _tile_stored(0, p.c, c_bytes);
  if constexpr (vectors > 1) _tile_stored(1, p.c + 16, c_bytes);
  if constexpr (vectors > 2) _tile_stored(2, p.c + 32, c_bytes);
  if constexpr (vectors > 3) _tile_stored(3, p.c + 48, c_bytes);
  settle_memory();
}

/// The same for any number of vectors.
template <Begin begin>
void tile_product(TileOperands p, std::int64_t vectors, std::int64_t steps) {
  for (; vectors > 0; vectors -= 4, p.b += 64, p.c += 64) {
    switch (vectors) {
      case 1:
        tile_block<begin, 1>(p, steps);
        break;
      case 2:
        tile_block<begin, 2>(p, steps);
        break;
      case 3:
        tile_block<begin, 3>(p, steps);
        break;
      default:
        tile_block<begin, 4>(p, steps);
    }
  }
}

/// Sixteen floats as bf16 in the lower halves of words.
TRIREME_INLINE __m512i bf16_words(F32x16 a) {
  return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(a.v)));
}

/// Copies rows of bf16 into `packed` [rows][width], zero beyond row_size columns and count rows.
inline void copy_rows(const void* x, std::int64_t x_stride, std::int64_t count, std::int64_t row_size,
                      std::uint16_t* packed, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, packed += width) {
    for (std::int64_t i = 0; i < width; i += 32) {
      const std::int64_t left = row < count ? smaller(32, row_size - i) : 0;
      const auto lanes = static_cast<__mmask32>(left <= 0 ? 0 : 0xFFFFFFFFU >> (32 - left));
      _mm512_storeu_si512(packed + i,
                          _mm512_maskz_loadu_epi16(lanes, static_cast<const std::uint16_t*>(x) + row * x_stride + i));
    }
  }
}

/// pairs[rows / 2][width] of packed[rows][width]: row 2 n in the lower halves, row 2 n + 1 in the upper ones.
inline void pair_rows(const std::uint16_t* packed, std::int64_t rows, std::int64_t width, std::uint32_t* pairs) {
  for (std::int64_t row = 0; row < rows; row += 2, packed += 2 * width, pairs += width) {
    for (std::int64_t i = 0; i < width; i += 16) {
      const U32x16 lower = load_u16(packed + i);
      const U32x16 upper = load_u16(packed + width + i);
      store(pairs + i, lower | shift_left<16>(upper));
    }
  }
}

/// transpose() of words.
inline void transpose_words(const void* source, std::int64_t source_stride, std::int64_t rows, std::int64_t columns,
                            std::uint32_t* target, std::int64_t target_stride) {
  transpose(static_cast<const float*>(source), source_stride, rows, columns, reinterpret_cast<float*>(target),
            target_stride);
}

}  // namespace trireme::kernels::host::TRIREME_ISA
