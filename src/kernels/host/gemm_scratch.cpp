#include "kernels/host/gemm_scratch.hpp"

#include <algorithm>

#include "kernels/host/gemm_pieces.hpp"

namespace trireme::kernels::host {

namespace {

constexpr std::int64_t elements(std::int64_t rows, std::int64_t columns) {
  return std::max(rows * line_stride_of(columns), columns * line_stride_of(rows));
}

/// What the library takes at most: a copy of the largest piece of the output, where a bias and the former output are
/// both added to it; with AMX perhaps copies of the operands, too.
std::size_t library_bytes_of(device::Isa isa, Dtype compute) {
  const bool tiles = compute == Dtype::bf16 && isa >= device::Isa::amx;
  return tiles ? std::size_t{8} << 20U : std::size_t{9} << 18U;
}

}  // namespace

GemmScratch::GemmScratch(const device::Device& device, device::Arena& arena, Dtype compute)
    : library_bytes(library_bytes_of(device.isa(), compute)) {
  const auto take = [&](std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    return static_cast<float*>(arena.allocate(bytes, device::MemoryClass::buffers));
  };
  for (int thread = 0; thread < device.num_threads(); ++thread) {
    library.push_back(arena.allocate(library_bytes, device::MemoryClass::buffers));
    if (compute == Dtype::f32) continue;
    sum.push_back(take(max_piece_rows * max_piece_columns));
    if (multiplies_itself(device.isa(), compute)) continue;
    a.push_back(take(elements(max_piece_rows, max_piece_depth)));
    b.push_back(take(elements(max_piece_depth, max_piece_columns)));
  }
}

}  // namespace trireme::kernels::host
