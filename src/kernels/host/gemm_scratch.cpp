#include "kernels/host/gemm_scratch.hpp"

#include <algorithm>

#include "kernels/host/gemm_pieces.hpp"
#include "kernels/host/tile_matmul.isa.hpp"
#include "kernels/host/tile_product.hpp"

namespace trireme::kernels::host {

namespace {

constexpr std::int64_t elements(std::int64_t rows, std::int64_t columns) {
  return std::max(rows * line_stride_of(columns), columns * line_stride_of(rows));
}

/// What the library takes at most: a copy of the largest piece of the output, where a bias and the former output are
/// both added to it.
constexpr std::size_t library_bytes_of_a_thread = std::size_t{9} << 18U;

}  // namespace

GemmScratch::GemmScratch(const device::Device& device, device::Arena& arena, Dtype compute)
    : library_bytes(library_bytes_of_a_thread) {
  const auto take = [&](std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    return static_cast<float*>(arena.allocate(bytes, device::MemoryClass::buffers));
  };
  for (int thread = 0; thread < device.num_threads(); ++thread) {
    library.push_back(arena.allocate(library_bytes, device::MemoryClass::buffers));
    if (compute == Dtype::f32) continue;
    sum.push_back(take(max_piece_rows * max_piece_columns));
    if (multiplies_in_tiles(device.isa(), compute)) {
      a.push_back(take(tile_matmul_rows * tile_matmul_depth / 2));
      b.push_back(take(tile_matmul_depth * tile_matmul_columns / 2));
      continue;
    }
    if (multiplies_itself(device.isa(), compute)) continue;
    a.push_back(take(elements(max_piece_rows, max_piece_depth)));
    b.push_back(take(elements(max_piece_depth, max_piece_columns)));
  }
}

}  // namespace trireme::kernels::host
