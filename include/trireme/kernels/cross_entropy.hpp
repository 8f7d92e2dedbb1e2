// Softmax cross-entropy over one chunk of logits, whose vocabulary may be cut in slices that different ranks hold.
// N rows of the chunk, V vocabulary of a slice, P >= V padded row length, S slices.
// For each slice cross_entropy_statistics(); then, the statistics of all slices at hand, cross_entropy_combine(); then
// for each slice cross_entropy_gradient().
#pragma once

#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// Of each row of a slice: its largest logit, sum(exp(logit - largest)), and the target's logit (0 when the target is
/// in another slice). The logits become exp(logit - largest), which cross_entropy_gradient() goes on from.
/// An empty slice (V = 0), and one whose logits are all -infinity, gives -infinity, 0, 0.
/// logits: [N, P] fp32; first_id: token number of the slice's first; targets: [N] int32; statistics: [N, 3] fp32.
void cross_entropy_statistics(const device::Device& device, const tensor::Tensor& logits, std::int64_t vocab,
                              std::int64_t first_id, const tensor::Tensor& targets, const tensor::Tensor& statistics);

/// log_probability[n] = log softmax(row n)[targets[n]] over all slices; sums of slices are added in the balanced tree.
/// statistics: [S, N, 3] fp32; coefficients: [N] fp32 or empty; where a coefficient is 0 the log-probability is 0;
/// normalizer: [N, 2] fp32, written: the largest logit of all slices and the sum of exp(logit - largest).
void cross_entropy_combine(const device::Device& device, const tensor::Tensor& statistics,
                           const tensor::Tensor& coefficients, const tensor::Tensor& log_probability,
                           const tensor::Tensor& normalizer);

/// gradient becomes coefficient[n] * (softmax - onehot(target)), zero in the padding (V to P): that of
/// -sum_n coefficient[n] * log_probability[n]. A row of coefficient 0 gives zeros. logits: as
/// cross_entropy_statistics() left them; statistics: [N, 3] of this slice; normalizer: [N, 2].
/// gradient: [N, at least P], fp32, bf16 or fp16 (rounded once; what is too large becomes infinite), rows of their own
/// or each over its row of logits: the logits themselves, or [N, 2 P] of half precision at the same address.
void cross_entropy_gradient(const device::Device& device, const tensor::Tensor& logits, std::int64_t vocab,
                            std::int64_t first_id, const tensor::Tensor& targets, const tensor::Tensor& coefficients,
                            const tensor::Tensor& statistics, const tensor::Tensor& normalizer,
                            const tensor::Tensor& gradient);

}  // namespace trireme::kernels
