// The portable form of column_sum() (trireme/kernels/reduce.hpp): one column at a time, in the same order.
#pragma once

#include "trireme/kernels/write.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels::portable {

void column_sum(const tensor::Tensor& x, const tensor::Tensor& out, Write write);

}  // namespace trireme::kernels::portable
