// The portable form of cross_entropy() (trireme/kernels/cross_entropy.hpp): one row at a time.
#pragma once

#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels::portable {

void cross_entropy(const tensor::Tensor& logits, std::int64_t vocab, const tensor::Tensor& targets,
                   const tensor::Tensor& coefficients, const tensor::Tensor& log_probability);

}  // namespace trireme::kernels::portable
