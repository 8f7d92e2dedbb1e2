// A product in blocks of 32 x 32: four tiles of sums, two tiles of each operand.
#include "kernels/host/tile_matmul.isa.hpp"

#include "kernels/host/amx.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

constexpr std::int64_t block = 32;                      // rows and columns of sums in registers
constexpr std::int64_t block_elements = block * block;  // of C

/// Sixteen halves of which the first `count` are read.
TRIREME_INLINE U32x16 load_halves(const std::uint16_t* p, std::int64_t count) {
  return {_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first_lanes(count).v, p))};
}

/// Rows of the operand and, in the upper halves, the next ones: x(row, column) at row * stride + column. Rows from
/// `rows` on and columns from `columns` on are 0.
TRIREME_INLINE U32x16 load_pair(const std::uint16_t* x, std::int64_t stride, std::int64_t row, std::int64_t rows,
                                std::int64_t columns) {
  if (columns <= 0) return broadcast(0U);
  const std::int64_t count = smaller(16, columns);
  const U32x16 lower = row < rows ? load_halves(x + row * stride, count) : broadcast(0U);
  const U32x16 upper = row + 1 < rows ? load_halves(x + (row + 1) * stride, count) : broadcast(0U);
  return lower | shift_left<16>(upper);
}

/// An operand's part that is multiplied at once: rows [begin, begin + depth) of B, columns of A.
struct Depth {
  std::int64_t begin, size, padded;
};

/// B in panels of 32 columns, each [padded / 2][32] pairs.
void pack_b(const TileMatmul& p, const Depth& depth) {
  const std::int64_t panel_words = depth.padded / 2 * block;
  if (p.b_column_stride == 1) {
    const std::uint16_t* x = p.b + depth.begin * p.b_row_stride;
    for (std::int64_t row = 0; row < depth.padded; row += tile_depth) {
      for (std::int64_t column = 0; column < p.n; column += block) {
        std::uint32_t* target = p.packed_b + column / block * panel_words + row / 2 * block;
        for (std::int64_t pair = 0; pair < tile_depth; pair += 2, target += block) {
          for (std::int64_t half = 0; half < block; half += 16) {
            store(target + half,
                  load_pair(x + column + half, p.b_row_stride, row + pair, depth.size, p.n - column - half));
          }
        }
      }
    }
    return;
  }
  alignas(64) std::uint16_t rows[16 * tile_matmul_depth];
  const bool copies = depth.size != depth.padded || p.b_column_stride % 2 != 0;
  for (std::int64_t column = 0; column < rounded_up(p.n, block); column += 16) {
    const std::uint16_t* x = p.b + column * p.b_column_stride + depth.begin;
    std::int64_t stride = p.b_column_stride;
    const std::int64_t count = smaller(16, p.n - column);
    if (copies || count < 16) {
      copy_rows(x, stride, count, depth.size, rows, 16, depth.padded);
      x = rows;
      stride = depth.padded;
    }
    transpose_words(x, stride / 2, 16, depth.padded / 2, p.packed_b + column / block * panel_words + column % block,
                    block);
  }
}

/// Where the part of A lies, rows of whole tiles.
struct PackedA {
  const std::uint16_t* data;
  std::int64_t stride;
};

PackedA pack_a(const TileMatmul& p, const Depth& depth) {
  const std::int64_t rows = rounded_up(p.m, block);
  if (p.a_column_stride == 1) {
    const std::uint16_t* x = p.a + depth.begin;
    if (rows == p.m && depth.size == depth.padded) return {x, p.a_row_stride};
    copy_rows(x, p.a_row_stride, p.m, depth.size, p.packed_a, rows, depth.padded);
  } else {
    const std::uint16_t* x = p.a + depth.begin * p.a_column_stride;
    alignas(64) std::uint32_t pairs[16 * 16];
    for (std::int64_t k = 0; k < depth.padded; k += tile_depth) {
      for (std::int64_t row = 0; row < rows; row += 16) {
        for (std::int64_t pair = 0; pair < 16; ++pair) {
          store(pairs + 16 * pair, load_pair(x + row, p.a_column_stride, k + 2 * pair, depth.size, p.m - row));
        }
        transpose_words(pairs, 16, 16, 16, reinterpret_cast<std::uint32_t*>(p.packed_a + row * depth.padded + k),
                        depth.padded / 2);
      }
    }
  }
  return {p.packed_a, depth.padded};
}

/// The lines of a block of C, on their way into the cache while the block is summed.
struct Destination {
  const std::byte* first = nullptr;
  std::int64_t stride_bytes = 0, lines_a_row = 1, lines = 0;

  TRIREME_INLINE void fetch(std::int64_t begin, std::int64_t count) const {
    for (std::int64_t i = begin; i < smaller(begin + count, lines); ++i) {
      __builtin_prefetch(first + i / lines_a_row * stride_bytes + i % lines_a_row * 64, 1);
    }
  }
};

Destination destination_of(const TileMatmul& p, std::int64_t row, std::int64_t column) {
  const std::int64_t lines_a_row = p.c_is_half ? 1 : 2;  // 32 elements
  const std::int64_t element_bytes = 2 * lines_a_row;
  return {static_cast<const std::byte*>(p.c) + (row * p.c_stride + column) * element_bytes, p.c_stride * element_bytes,
          lines_a_row, smaller(block, p.m - row) * lines_a_row};
}

/// Sums of a block: begun at zero or at `from`, stored to `to`.
TRIREME_INLINE void multiply_block(const PackedA& a, const std::uint32_t* b, std::int64_t steps, const float* from,
                                   float* to, std::int64_t to_stride, const Destination& fetched) {
  settle_memory();
  if (from == nullptr) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, from, 4 * block);
    _tile_loadd(1, from + 16, 4 * block);
    _tile_loadd(2, from + 16 * block, 4 * block);
    _tile_loadd(3, from + 16 * block + 16, 4 * block);
  }
  const std::uint16_t* rows = a.data;
  const std::uint16_t* next_rows = a.data + 16 * a.stride;
  const std::int64_t lines = (2 * block + steps - 1) / steps;
  for (std::int64_t step = 0; step < steps; ++step, rows += tile_depth, next_rows += tile_depth, b += 16 * block) {
    fetched.fetch(step * lines, lines);
    _tile_loadd(4, rows, 2 * a.stride);
    _tile_loadd(6, b, 4 * block);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + 16, 4 * block);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, next_rows, 2 * a.stride);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, to, 4 * to_stride);
  _tile_stored(1, to + 16, 4 * to_stride);
  _tile_stored(2, to + 16 * to_stride, 4 * to_stride);
  _tile_stored(3, to + 16 * to_stride + 16, 4 * to_stride);
  settle_memory();
}

/// Sums of a block to their place in C.
template <class T>
void write_block(const TileMatmul& p, std::int64_t row, std::int64_t column, const float* sums) {
  const std::int64_t rows = smaller(block, p.m - row);
  for (std::int64_t half = 0; half < smaller(block, p.n - column); half += 16) {
    const std::int64_t count = smaller(16, p.n - column - half);
    const F32x16 bias = p.bias == nullptr ? zero() : load_first(p.bias + column + half, count);
    T* target = static_cast<T*>(p.c) + row * p.c_stride + column + half;
    for (std::int64_t i = 0; i < rows; ++i, target += p.c_stride) {
      F32x16 value = load(sums + i * block + half) + bias;
      if (p.adds) value = load_first(target, count) + value;
      store_first(target, value, count);
    }
  }
}

}  // namespace

void tile_matmul(const TileMatmul& p) {
  const TileRegisters registers;
  const bool stores_directly = !p.c_is_half && !p.adds && p.bias == nullptr;
  alignas(64) float sums[block_elements];
  for (std::int64_t begin = 0; begin < p.k; begin += tile_matmul_depth) {
    const std::int64_t size = smaller(tile_matmul_depth, p.k - begin);
    const Depth depth{begin, size, rounded_up(size, tile_depth)};
    const bool is_first = begin == 0;
    const bool is_last = begin + size == p.k;
    pack_b(p, depth);
    const PackedA a = pack_a(p, depth);
    float* partial = p.sums;
    for (std::int64_t column = 0; column < p.n; column += block) {
      const std::uint32_t* const panel = p.packed_b + column / 2 * depth.padded;
      for (std::int64_t row = 0; row < p.m; row += block, partial += block_elements) {
        const PackedA rows{a.data + row * a.stride, a.stride};
        const float* const from = is_first ? nullptr : partial;
        const Destination fetched = is_last ? destination_of(p, row, column) : Destination{};
        if (!is_last) {
          multiply_block(rows, panel, depth.padded / tile_depth, from, partial, block, fetched);
        } else if (stores_directly && row + block <= p.m && column + block <= p.n) {
          multiply_block(rows, panel, depth.padded / tile_depth, from,
                         static_cast<float*>(p.c) + row * p.c_stride + column, p.c_stride, fetched);
        } else {
          multiply_block(rows, panel, depth.padded / tile_depth, from, sums, block, fetched);
          if (p.c_is_half) {
            write_block<Bf16>(p, row, column, sums);
          } else {
            write_block<float>(p, row, column, sums);
          }
        }
      }
    }
  }
}

}  // namespace trireme::kernels::host::TRIREME_ISA
