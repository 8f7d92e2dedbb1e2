// V vocabulary, N rows, n own rows, S slices.
#pragma once

#include <vector>

#include "trireme/layers/context.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::layers {

/// Name of the token table, which a tied head shares.
inline constexpr const char* token_table_name = "embedding.token.weight";

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

/// The rows of slice k of all: ceil(V / S) each, the last ones fewer or none.
[[nodiscard]] Range vocabulary_slice(std::int64_t vocab, std::int64_t num_slices, std::int64_t slice);
/// The entries of this rank's slices of a table [V, D]: one each, those without rows too.
[[nodiscard]] std::vector<tensor::Parameter> table_slices(const tensor::Parameter& table, const TensorAxis& axis);

/// Token embedding (its table cut by rows in slices), learned positions (whole on every rank), and their dropout
/// (site 0).
class Embedding {
 public:
  Embedding(tensor::ParameterStore& parameters, const EmbeddingOptions& options, const TensorAxis& axis);
  /// y [n, D] = dropout(token[ids] + position[positions]).
  void forward(const Context& context, const Sequences& sequences, const tensor::Tensor& y) const;
  /// dy [n, D] is overwritten by the gradient before the dropout.
  void backward(const Context& context, const Sequences& sequences, const tensor::Tensor& dy,
                kernels::Write token_write, kernels::Write position_write) const;

 private:
  EmbeddingOptions options_;
  std::vector<tensor::Parameter*> token_;  // of each slice of this rank
  tensor::Parameter* position_ = nullptr;
};

}  // namespace trireme::layers
