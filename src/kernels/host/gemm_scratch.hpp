// Memory that each thread needs for its piece of a product.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/base/dtype.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"

namespace trireme::kernels::host {

/// Whether oneDNN multiplies matrices of this type itself: it has no fp16, and its bf16 without the processor's own
/// instructions is slower than fp32 (figures in README.md).
[[nodiscard]] inline bool multiplies_itself(device::Isa isa, Dtype dtype) {
  return dtype == Dtype::f32 || (dtype == Dtype::bf16 && isa >= device::Isa::avx512_bf16);
}

/// One address on 64 bytes per thread in each list, or none where products of this type need no such memory.
struct GemmScratch {
  /// Takes what products of `compute` (and of fp32) need.
  GemmScratch(const device::Device& device, device::Arena& arena, Dtype compute);

  std::size_t library_bytes;
  std::vector<void*> library;
  std::vector<float*> sum;  ///< a piece of the output
  std::vector<float*> a;    ///< pieces of the operands, widened or packed
  std::vector<float*> b;
};

}  // namespace trireme::kernels::host
