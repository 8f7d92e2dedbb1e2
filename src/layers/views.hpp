// Slice-major memory: slice after slice, each as long as this micro-batch needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/device/arena.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::layers {

/// Slice k of memory that holds slices of this shape one after the other.
[[nodiscard]] inline tensor::Tensor slice_view(const tensor::Tensor& slices, std::int64_t k,
                                               const tensor::Shape& shape) {
  tensor::Tensor view = slices;
  TRIREME_EXPECT((k + 1) * shape.size() <= slices.size());
  view.shape = {shape.size()};
  if (!view.empty()) view.data = static_cast<std::byte*>(view.data) + static_cast<std::size_t>(k) * view.bytes();
  return view.reshaped(shape);
}

/// [N, heads, K] seen as the [N, heads * K] that a linear layer takes.
[[nodiscard]] inline tensor::Tensor flat(const tensor::Tensor& heads) {
  return heads.reshaped({heads.shape[0], heads.shape[1] * heads.shape[2]});
}

[[nodiscard]] inline tensor::Tensor allocate_activation(device::Arena& arena, const tensor::Shape& shape, Dtype dtype) {
  return tensor::allocate(arena, shape, dtype, device::MemoryClass::activations);
}

}  // namespace trireme::layers
