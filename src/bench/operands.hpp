// Tensors with numbers in them: memory that was never written is one page of zeros, which no cache finds hard.
#pragma once

#include <cstdint>

#include "trireme/device/arena.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::bench {

/// An fp32 tensor of uniform numbers in [-1, 1).
[[nodiscard]] tensor::Tensor random_tensor(device::Arena& arena, const tensor::Shape& shape);

/// An int32 tensor of numbers in [0, bound).
[[nodiscard]] tensor::Tensor random_ids(device::Arena& arena, std::int64_t count, std::int32_t bound);

}  // namespace trireme::bench
