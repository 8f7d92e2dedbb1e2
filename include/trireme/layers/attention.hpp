// H query heads, G key/value heads, K head width.
#pragma once

#include <string>

#include "trireme/device/arena.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/layers/linear.hpp"

namespace trireme::layers {

struct AttentionOptions {
  std::string name;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
  bool qkv_bias = false;
  bool output_bias = false;
  double initial_deviation = 0.02;
  double output_deviation = 0.02;
  double dropout = 0;
  std::uint32_t dropout_site = 0;
  int bucket = 0;
};

/// What the backward pass reads of a forward pass.
struct AttentionActivations {
  tensor::Tensor query;        ///< [N, H, K], rotated
  tensor::Tensor key;          ///< [N, G, K], rotated
  tensor::Tensor value;        ///< [N, G, K]
  tensor::Tensor core;         ///< [N, H, K], before the output projection
  tensor::Tensor log_sum_exp;  ///< [B, H, T] fp32
};

/// Gradients at the inner seams; the weight pass reads them.
struct AttentionGradients {
  tensor::Tensor query, key, value, core;
};

/// Keys and values of the tokens so far, for generation: one sequence.
struct KeyValueCache {
  tensor::Tensor key;  ///< [context, G, K]
  tensor::Tensor value;
  std::int64_t length = 0;  ///< tokens held
};

/// Causal self-attention with grouped key/value heads.
class Attention {
 public:
  Attention(tensor::ParameterStore& parameters, const AttentionOptions& options);

  [[nodiscard]] AttentionActivations allocate(device::Arena& arena, std::int64_t batch, std::int64_t tokens) const;
  [[nodiscard]] AttentionGradients allocate_gradients(device::Arena& arena, std::int64_t rows) const;
  [[nodiscard]] KeyValueCache allocate_cache(device::Arena& arena, std::int64_t context) const;

  /// x [N, D] -> y [N, D]. rotary_table empty: positions are not rotated. With a cache (B = 1) the tokens are appended
  /// to it and attend to all that it holds.
  void forward(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
               const tensor::Tensor& x, const tensor::Tensor& y, const AttentionActivations& activations,
               KeyValueCache* cache) const;
  /// dx [N, D] is set; the inner gradients are kept for backward_weight().
  void backward_input(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
                      const AttentionActivations& activations, const tensor::Tensor& dy,
                      const AttentionGradients& gradients, const tensor::Tensor& dx) const;
  void backward_weight(const Context& context, const AttentionActivations& activations, const tensor::Tensor& x,
                       const tensor::Tensor& dy, const AttentionGradients& gradients, kernels::Write write) const;
  [[nodiscard]] std::int64_t scratch_bytes(const device::Device& device, std::int64_t batch, std::int64_t tokens) const;

 private:
  [[nodiscard]] kernels::AttentionShape shape(const Sequences& sequences, std::int64_t keys) const;
  AttentionOptions options_;
  Linear query_, key_, value_, output_;
};

}  // namespace trireme::layers
