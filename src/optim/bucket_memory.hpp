#pragma once

#include <cstdint>

#include "trireme/device/arena.hpp"
#include "trireme/optim/bucket_layout.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::optim {

/// fp32; nullptr for no elements, and while the arena measures.
[[nodiscard]] inline float* allocate_floats(device::Arena& arena, std::int64_t elements,
                                            device::MemoryClass memory_class) {
  if (elements == 0) return nullptr;
  return static_cast<float*>(arena.allocate(static_cast<std::size_t>(elements) * sizeof(float), memory_class));
}

/// base + offset; nullptr stays nullptr.
[[nodiscard]] inline float* at(float* base, std::int64_t offset) {
  return base == nullptr ? nullptr : base + offset;
}

/// Lets `member` (weight or gradient) of the bucket's entries show their parts of its memory; nullptr: nothing.
inline void point(const BucketLayout& layout, tensor::Tensor tensor::Parameter::*member, float* memory) {
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    tensor::Parameter& parameter = *layout.parameters[i];
    parameter.*member = {.data = at(memory, layout.offsets[i]), .shape = parameter.shard.extent, .dtype = Dtype::f32};
  }
}

}  // namespace trireme::optim
