// Rows of a table by number: token and learned position embeddings. N tokens, D width, V rows of the table.
#pragma once

#include "trireme/device/device.hpp"
#include "trireme/kernels/write.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// y[n] is set or added to with table[ids[n] - first_id]. A row that the table does not hold (ids[n] outside of
/// [first_id, first_id + V)) gives zeros where set, nothing where added: another table holds it.
/// ids: [N] int32; table: [V, D], V may be 0; y: [N, D], of the table's type or fp32.
void embedding_forward(const device::Device& device, const tensor::Tensor& ids, std::int64_t first_id,
                       const tensor::Tensor& table, const tensor::Tensor& y, Write write);

/// Adds dy[n] to row ids[n] - first_id of gradient [V, D] (fp32), in ascending order of n: threads split the width, not
/// the tokens. A row outside of [first_id, first_id + V) adds nothing.
void embedding_backward(const device::Device& device, const tensor::Tensor& ids, std::int64_t first_id,
                        const tensor::Tensor& dy, const tensor::Tensor& gradient);

}  // namespace trireme::kernels
