// Token and learned position embeddings. N tokens, D width, V vocabulary.
#pragma once

#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// y[n] = token_table[ids[n]] (+ position_table[positions[n]] unless that table is empty).
/// An id outside [0, V) gives zeros: a row that another rank holds.
/// ids, positions: [N] int32; token_table [V, D], position_table [context, D], y [N, D].
void embedding_forward(const device::Device& device, const tensor::Tensor& ids, const tensor::Tensor& positions,
                       const tensor::Tensor& token_table, const tensor::Tensor& position_table,
                       const tensor::Tensor& y);

/// Adds dy[n] to row ids[n] of gradient [V, D] (fp32), in ascending order of n: threads split the width, not the
/// tokens. An id outside [0, V) adds nothing (rows that another rank holds).
void embedding_backward(const device::Device& device, const tensor::Tensor& ids, const tensor::Tensor& dy,
                        const tensor::Tensor& gradient);

}  // namespace trireme::kernels
