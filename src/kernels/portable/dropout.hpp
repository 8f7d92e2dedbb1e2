// The portable forms of dropout_apply() and residual_add() (trireme/kernels/random.hpp).
#pragma once

#include "trireme/kernels/random.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels::portable {

void dropout_apply(const Dropout& dropout, const tensor::Tensor& x, const tensor::Tensor& y);
void residual_add(const Dropout& dropout, const tensor::Tensor& residual, const tensor::Tensor& branch,
                  const tensor::Tensor& out);

}  // namespace trireme::kernels::portable
