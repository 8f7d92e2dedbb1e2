// The portable form of rotary_apply() (trireme/kernels/rotary.hpp).
#pragma once

#include "trireme/kernels/rotary.hpp"

namespace trireme::kernels::portable {

void rotary_apply(const tensor::Tensor& table, const tensor::Tensor& positions, Rotation rotation,
                  const tensor::Tensor& x);

}  // namespace trireme::kernels::portable
