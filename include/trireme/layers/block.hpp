// One pre-norm transformer block: h = x + dropout(attention(norm_1(x))); y = h + dropout(mlp(norm_2(h))).
// N rows of a micro-batch, n of them this rank's: the residual stream is split by rows along the tensor axis.
#pragma once

#include "trireme/layers/attention.hpp"
#include "trireme/layers/mlp.hpp"
#include "trireme/layers/norm.hpp"
#include "trireme/layers/row_sums.hpp"

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
  tensor::Tensor input;  ///< [n, D], set by forward()
  NormStatistics statistics_1, statistics_2;
  tensor::Tensor normed_1;  ///< [n, D]
  AttentionActivations attention;
  tensor::Tensor middle;  ///< [n, D]: h
  tensor::Tensor normed_2;
  MlpActivations mlp;
  tensor::Tensor output;  ///< [n, D]: y
};

/// What the input pass leaves for the weight pass.
struct BlockGradients {
  tensor::Tensor attention_branch;  ///< [n, D]: of the attention's output
  tensor::Tensor mlp_branch;        ///< [n, D]: of the mlp's output
  tensor::Tensor normed;            ///< [n, D]: of a norm's output; free after the input pass
  tensor::Tensor row_sums;          ///< of RowSums
  AttentionGradients attention;
  MlpGradients mlp;
};

class Block {
 public:
  Block(tensor::ParameterStore& parameters, const BlockOptions& options, const TensorAxis& axis);

  /// shared_core: see Attention::allocate().
  [[nodiscard]] BlockActivations allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                          std::int64_t tokens, const AttentionCore* shared_core) const;
  [[nodiscard]] BlockGradients allocate_gradients(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                                  std::int64_t tokens, bool core_again) const;
  [[nodiscard]] AttentionCore allocate_core(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                            std::int64_t tokens) const;
  [[nodiscard]] KeyValueCache allocate_cache(device::Arena& arena, const TensorAxis& axis, std::int64_t context) const;

  /// x [n, D] -> activations.output; branch [n, D] is scratch.
  void forward(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
               const tensor::Tensor& x, BlockActivations& activations, const tensor::Tensor& branch,
               KeyValueCache* cache) const;
  /// gradient [n, D]: of the output on entry, of the input on return. No gradient of a parameter is written here.
  void backward_input(const Context& context, const Sequences& sequences, const tensor::Tensor& rotary_table,
                      const BlockActivations& activations, const BlockGradients& gradients,
                      const tensor::Tensor& gradient) const;
  /// The gradients of all parameters are set or added to.
  void backward_weight(const Context& context, std::int64_t rows, const BlockActivations& activations,
                       const BlockGradients& gradients, kernels::Write write) const;
  [[nodiscard]] std::int64_t scratch_bytes(const Context& context, std::int64_t batch, std::int64_t tokens) const;
  [[nodiscard]] int bucket() const noexcept { return options_.bucket; }

 private:
  /// Numbers within the row sums.
  struct SumNumbers {
    std::int64_t norm_1 = 0;
    std::int64_t norm_2 = 0;
    std::int64_t attention_bias = 0;
    std::int64_t mlp_bias = 0;
  };

  BlockOptions options_;
  Norm norm_1_;
  Attention attention_;
  Norm norm_2_;
  Mlp mlp_;
  RowSums row_sums_;
  SumNumbers sums_;
};

}  // namespace trireme::layers
