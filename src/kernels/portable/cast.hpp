// The portable form of trireme/kernels/cast.hpp.
#pragma once

#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels::portable {

void cast(const tensor::Tensor& source, const tensor::Tensor& target);

}  // namespace trireme::kernels::portable
