// Element-wise activations of the MLP, on our own exp, tanh and erf (the same bits in a vector lane and in a loop's
// tail).
#pragma once

#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

enum class Gelu : std::uint8_t { exact, tanh };

/// y = GELU(x) (Hendrycks, Gimpel 2016): x Phi(x), or its tanh form. x, y of equal shape.
void gelu_forward(const device::Device& device, Gelu kind, const tensor::Tensor& x, const tensor::Tensor& y);

/// dx = dy * GELU'(x). dx may be dy.
void gelu_backward(const device::Device& device, Gelu kind, const tensor::Tensor& dy, const tensor::Tensor& x,
                   const tensor::Tensor& dx);

/// y = silu(gate) * up (Shazeer 2020), silu(z) = z / (1 + exp(-z)).
void swiglu_forward(const device::Device& device, const tensor::Tensor& gate, const tensor::Tensor& up,
                    const tensor::Tensor& y);

/// dgate = dy * up * silu'(gate); dup = dy * silu(gate). dgate or dup may be dy.
void swiglu_backward(const device::Device& device, const tensor::Tensor& dy, const tensor::Tensor& gate,
                     const tensor::Tensor& up, const tensor::Tensor& dgate, const tensor::Tensor& dup);

}  // namespace trireme::kernels
