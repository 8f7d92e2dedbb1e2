// Softmax cross-entropy over one chunk of logits. N rows of the chunk, V vocabulary, P >= V padded row length.
#pragma once

#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// log_probability[n] = log softmax(logits[n, :V])[targets[n]].
/// With gradients, logits become coefficient[n] * (softmax - onehot(target)), zero in the padding: the gradient of
/// -sum_n coefficient[n] * log_probability[n]. A row of coefficient 0 gives zeros (its target is not read).
/// logits: [N, P] fp32; targets: [N] int32 in [0, V); coefficients: [N] fp32, or empty for no gradient;
/// log_probability: [N] fp32, written (0 where the coefficient is 0).
void cross_entropy(const device::Device& device, const tensor::Tensor& logits, std::int64_t vocab,
                   const tensor::Tensor& targets, const tensor::Tensor& coefficients,
                   const tensor::Tensor& log_probability);

}  // namespace trireme::kernels
