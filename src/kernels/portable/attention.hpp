// The portable forms of attention_forward() and attention_backward() (trireme/kernels/attention.hpp): one query or key
// at a time, without scratch. Slow; for spaces that have no tiled kernel.
#pragma once

#include "trireme/kernels/attention.hpp"

namespace trireme::kernels::portable {

void attention_forward(const AttentionShape& shape, const Dropout& dropout, const tensor::Tensor& q,
                       const tensor::Tensor& k, const tensor::Tensor& v, const tensor::Tensor& sequence_starts,
                       const tensor::Tensor& out, const tensor::Tensor& log_sum_exp);

void attention_backward(const AttentionShape& shape, const Dropout& dropout, const tensor::Tensor& q,
                        const tensor::Tensor& k, const tensor::Tensor& v, const tensor::Tensor& sequence_starts,
                        const tensor::Tensor& out, const tensor::Tensor& log_sum_exp, const tensor::Tensor& dout,
                        const tensor::Tensor& dq, const tensor::Tensor& dk, const tensor::Tensor& dv);

}  // namespace trireme::kernels::portable
