// Causal multi-head attention with grouped key/value heads, tile by tile with a running softmax: no T x T matrix is
// ever stored. Source: Dao et al. 2022 (FlashAttention, algorithms 1 and 4); grouped heads: Ainslie et al. 2023.
// B batch, Q queries, S keys, H query heads, G key/value heads (H % G == 0), K head size.
#pragma once

#include "trireme/device/device.hpp"
#include "trireme/kernels/random.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t queries = 0;  ///< query i stands at key position keys - queries + i
  std::int64_t keys = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t first_head = 0;  ///< number within the layer of head 0 of this call: dropout counts heads of the layer
  std::int64_t head_size = 0;
  bool causal = true;
  std::int64_t window = 0;  ///< > 0: a query sees its last `window` keys only, itself included; needs causal
  float scale = 1;          ///< of the scores, usually 1/sqrt(K)
};

/// out = dropout(softmax(scale * q k^T + mask)) v. Head h reads key/value head h / (H / G).
/// q, out: [B, Q, H, K]; k, v: [B, S, G, K]; all fp32, bf16 or fp16 alike; log_sum_exp: [B, H, Q] fp32, written;
/// sequence_starts: [B, S] int32 or empty: key position where the document of position s begins (at most s, ascending);
/// earlier keys are masked.
/// Dropout's element within a sequence is ((first_head + h) * S + query position) * S + key position.
/// scratch: attention_scratch_bytes() bytes, u8. Flop: 4 K for each pair of a query and a key that it sees, and head.
void attention_forward(const device::Device& device, const AttentionShape& shape, const Dropout& dropout,
                       const tensor::Tensor& q, const tensor::Tensor& k, const tensor::Tensor& v,
                       const tensor::Tensor& sequence_starts, const tensor::Tensor& out,
                       const tensor::Tensor& log_sum_exp, const tensor::Tensor& scratch);

/// Gradients of attention_forward; dq, dk, dv are set. Shapes as there, dout as out; dk and dv of that type too, or
/// fp32. dk and dv of a group add over its query heads in ascending order, over query tiles in ascending order. Flop:
/// 10 K a pair.
void attention_backward(const device::Device& device, const AttentionShape& shape, const Dropout& dropout,
                        const tensor::Tensor& q, const tensor::Tensor& k, const tensor::Tensor& v,
                        const tensor::Tensor& sequence_starts, const tensor::Tensor& out,
                        const tensor::Tensor& log_sum_exp, const tensor::Tensor& dout, const tensor::Tensor& dq,
                        const tensor::Tensor& dk, const tensor::Tensor& dv, const tensor::Tensor& scratch);

/// Bytes of scratch for either pass, for all threads of the device.
[[nodiscard]] std::int64_t attention_scratch_bytes(const device::Device& device, const AttentionShape& shape);

}  // namespace trireme::kernels
