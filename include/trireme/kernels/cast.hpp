#pragma once

#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// Converts source to target's dtype (fp32, bf16, fp16; round to nearest even). Equal sizes.
void cast(const device::Device& device, const tensor::Tensor& source, const tensor::Tensor& target);

}  // namespace trireme::kernels
