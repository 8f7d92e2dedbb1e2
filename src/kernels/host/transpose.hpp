// The transpose of a matrix of 32-bit words.
#pragma once

#include "kernels/host/simd.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

/// target[column][row] = source[row][column]. rows: a multiple of 16; columns: of 4.
inline void transpose(const float* source, std::int64_t source_stride, std::int64_t rows, std::int64_t columns,
                      float* target, std::int64_t target_stride) {
  for (std::int64_t row = 0; row < rows; row += 16) {
    for (std::int64_t column = 0; column < columns; column += 4) {
      const float* corner = source + row * source_stride + column;
      F32x16 a = load_quads(corner, 4 * source_stride);
      F32x16 b = load_quads(corner + source_stride, 4 * source_stride);
      F32x16 c = load_quads(corner + 2 * source_stride, 4 * source_stride);
      F32x16 d = load_quads(corner + 3 * source_stride, 4 * source_stride);
      transpose_quads(a, b, c, d);
      float* place = target + column * target_stride + row;
      store(place, a);
      store(place + target_stride, b);
      store(place + 2 * target_stride, c);
      store(place + 3 * target_stride, d);
    }
  }
}

}  // namespace trireme::kernels::host::TRIREME_ISA
