#pragma once

#include "trireme/layers/context.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::layers {

struct EmbeddingOptions {
  std::int64_t vocab = 0;
  std::int64_t context = 0;
  std::int64_t width = 0;
  bool learned_positions = true;
  double initial_deviation = 0.02;
  double dropout = 0;
  int token_bucket = 0;
  int position_bucket = 0;
};

/// Token embedding, learned positions, and their dropout (site 0).
class Embedding {
 public:
  Embedding(tensor::ParameterStore& parameters, const EmbeddingOptions& options);
  /// y [N, D] = dropout(token[ids] + position[positions]).
  void forward(const Context& context, const Sequences& sequences, const tensor::Tensor& y) const;
  /// dy [N, D] is overwritten by the gradient before the dropout.
  void backward(const Context& context, const Sequences& sequences, const tensor::Tensor& dy,
                kernels::Write token_write, kernels::Write position_write) const;

 private:
  EmbeddingOptions options_;
  tensor::Parameter* token_ = nullptr;
  tensor::Parameter* position_ = nullptr;
};

}  // namespace trireme::layers
