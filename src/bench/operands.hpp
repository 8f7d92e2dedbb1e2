// Tensors with numbers in them: memory that was never written is one page of zeros, which no cache finds hard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/device/arena.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::bench {

/// A tensor of uniform numbers: fp32 in [-1, 1); bf16 and fp16 of either sign, their size in [1/2, 1).
[[nodiscard]] tensor::Tensor random_tensor(device::Arena& arena, const tensor::Shape& shape, Dtype dtype = Dtype::f32);

/// An int32 tensor of numbers in [0, bound).
[[nodiscard]] tensor::Tensor random_ids(device::Arena& arena, std::int64_t count, std::int32_t bound);

[[nodiscard]] std::vector<std::byte> random_bytes(std::size_t count);

}  // namespace trireme::bench
