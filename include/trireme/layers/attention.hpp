// H query heads, G key/value heads, K head width; N rows, n own rows; S slices, s of them this rank's, g key/value
// slices that they read.
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

/// What the attention itself makes; selective recompute makes it again instead of keeping it.
struct AttentionCore {
  tensor::Tensor output;       ///< [s N, H / S, K], before the output projection
  tensor::Tensor log_sum_exp;  ///< [s B, H / S, T] fp32
};

/// What the backward pass reads of a forward pass; slice after slice.
struct AttentionActivations {
  tensor::Tensor query;  ///< [s N, H / S, K], rotated
  tensor::Tensor key;    ///< [g N, heads of a key/value slice, K], rotated
  tensor::Tensor value;  ///< likewise
  AttentionCore core;    ///< own memory, or one that all blocks share where it is made again
};

/// Gradients at the inner seams; the weight pass reads them.
struct AttentionGradients {
  tensor::Tensor query;       ///< [s N, H / S, K]
  tensor::Tensor key, value;  ///< [s N, heads of a key/value slice, K]: of each slice; then the sum of its group in the
                              ///< place of the group's first
  tensor::Tensor core;        ///< [s N, H / S, K]
  AttentionCore again;        ///< the core made again in the input pass; empty where it was kept
};

/// Keys and values of the tokens so far, for generation: one sequence.
struct KeyValueCache {
  tensor::Tensor key;  ///< [g context, heads of a key/value slice, K]
  tensor::Tensor value;
  std::int64_t context = 0;
  std::int64_t length = 0;  ///< tokens held
};

/// Causal self-attention with grouped key/value heads, cut by heads along the tensor axis. A key/value slice that
/// serves query slices of several ranks is on each of them, alike.
class Attention {
 public:
  Attention(tensor::ParameterStore& parameters, const AttentionOptions& options, const TensorAxis& axis);

  [[nodiscard]] AttentionCore allocate_core(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                            std::int64_t tokens) const;
  /// shared_core: of allocate_core(), used by all blocks whose core is made again; nullptr: own memory.
  [[nodiscard]] AttentionActivations allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                              std::int64_t tokens, const AttentionCore* shared_core) const;
  /// again: with memory for the core made again.
  [[nodiscard]] AttentionGradients allocate_gradients(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                                      std::int64_t tokens, bool again) const;
  [[nodiscard]] KeyValueCache allocate_cache(device::Arena& arena, const TensorAxis& axis, std::int64_t context) const;

  /// x [n, D] -> y [n, D]. rotary_table empty: positions are not rotated. With a cache (B = 1) the tokens are appended
  /// to it and attend to all that it holds.
  void forward(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
               const tensor::Tensor& x, const tensor::Tensor& y, const AttentionActivations& activations,
               KeyValueCache* cache) const;
  /// dx [n, D] is set; the inner gradients are kept for backward_weight(). Where gradients.again has memory, the core
  /// is made again first.
  void backward_input(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
                      const AttentionActivations& activations, const tensor::Tensor& dy,
                      const AttentionGradients& gradients, const tensor::Tensor& dx) const;
  /// x, dy [n, D]: gathered again.
  void backward_weight(const Context& context, std::int64_t rows, const AttentionActivations& activations,
                       const tensor::Tensor& x, const tensor::Tensor& dy, const AttentionGradients& gradients,
                       kernels::Write write) const;
  [[nodiscard]] std::int64_t scratch_bytes(const Context& context, std::int64_t batch, std::int64_t tokens) const;
  /// Of the output projection, or nullptr.
  [[nodiscard]] tensor::Parameter* row_bias() const noexcept { return output_.bias(); }

 private:
  [[nodiscard]] kernels::AttentionShape shape(const TensorAxis& axis, std::int64_t k, const Sequences& sequences,
                                              std::int64_t keys) const;
  void compute_core(const Context& context, const Sequences& sequences, const AttentionActivations& activations,
                    const KeyValueCache* cache, const AttentionCore& core) const;
  void project(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
               const tensor::Tensor& x, const AttentionActivations& activations) const;
  void core_backward(const Context& context, const Sequences& sequences, const AttentionActivations& activations,
                     const AttentionGradients& gradients) const;
  void sum_kv_slices(const Context& context, std::int64_t rows, const AttentionGradients& gradients) const;
  void input_gradient(const Context& context, std::int64_t rows, const AttentionGradients& gradients,
                      const tensor::Tensor& dx) const;

  AttentionOptions options_;
  ColumnLinear query_, key_, value_;
  RowLinear output_;
};

}  // namespace trireme::layers
