// One pre-norm transformer block: h = x + dropout(attention(norm_1(x))); y = h + dropout(mlp(norm_2(h))).
#pragma once

#include "trireme/layers/attention.hpp"
#include "trireme/layers/mlp.hpp"
#include "trireme/layers/norm.hpp"

namespace trireme::layers {

struct BlockOptions {
  AttentionOptions attention;
  MlpOptions mlp;
  NormOptions norm_1;
  NormOptions norm_2;
  double dropout = 0;
  std::uint32_t attention_dropout_site = 0;  ///< of the residual after attention
  std::uint32_t mlp_dropout_site = 0;
  int bucket = 0;
};

/// What a forward pass leaves for the backward pass. `input` belongs to the block before.
struct BlockActivations {
  tensor::Tensor input;  ///< [N, D], set by forward()
  NormStatistics statistics_1, statistics_2;
  tensor::Tensor normed_1;  ///< [N, D]
  AttentionActivations attention;
  tensor::Tensor middle;  ///< [N, D]: h
  tensor::Tensor normed_2;
  MlpActivations mlp;
  tensor::Tensor output;  ///< [N, D]: y
};

/// What the input pass leaves for the weight pass.
struct BlockGradients {
  tensor::Tensor attention_branch;  ///< [N, D]: of the attention's output
  tensor::Tensor mlp_branch;        ///< [N, D]: of the mlp's output
  tensor::Tensor normed;            ///< [N, D]: of a norm's output; free after the input pass
  AttentionGradients attention;
  MlpGradients mlp;
};

class Block {
 public:
  Block(tensor::ParameterStore& parameters, const BlockOptions& options);

  [[nodiscard]] BlockActivations allocate(device::Arena& arena, std::int64_t batch, std::int64_t tokens) const;
  [[nodiscard]] BlockGradients allocate_gradients(device::Arena& arena, std::int64_t rows) const;
  [[nodiscard]] KeyValueCache allocate_cache(device::Arena& arena, std::int64_t context) const;

  /// x [N, D] -> activations.output; branch [N, D] is scratch.
  void forward(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
               const tensor::Tensor& x, BlockActivations& activations, const tensor::Tensor& branch,
               KeyValueCache* cache) const;
  /// gradient [N, D]: of the output on entry, of the input on return. Norm gradients are set or added to here, all
  /// others in backward_weight().
  void backward_input(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
                      const BlockActivations& activations, const BlockGradients& gradients,
                      const tensor::Tensor& gradient, kernels::Write write) const;
  void backward_weight(const Context& context, const BlockActivations& activations, const BlockGradients& gradients,
                       kernels::Write write) const;
  [[nodiscard]] std::int64_t scratch_bytes(const device::Device& device, std::int64_t batch, std::int64_t tokens) const;
  [[nodiscard]] int bucket() const noexcept { return options_.bucket; }

 private:
  BlockOptions options_;
  Norm norm_1_;
  Attention attention_;
  Norm norm_2_;
  Mlp mlp_;
};

}  // namespace trireme::layers
