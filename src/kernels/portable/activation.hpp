// The portable forms of trireme/kernels/activation.hpp.
#pragma once

#include "trireme/kernels/activation.hpp"

namespace trireme::kernels::portable {

void gelu_forward(Gelu kind, const tensor::Tensor& x, const tensor::Tensor& y);
void gelu_backward(Gelu kind, const tensor::Tensor& dy, const tensor::Tensor& x, const tensor::Tensor& dx);
void swiglu_forward(const tensor::Tensor& gate, const tensor::Tensor& up, const tensor::Tensor& y);
void swiglu_backward(const tensor::Tensor& dy, const tensor::Tensor& gate, const tensor::Tensor& up,
                     const tensor::Tensor& dgate, const tensor::Tensor& dup);

}  // namespace trireme::kernels::portable
