// The end of the model: final norm, logits, loss. V vocabulary, cut in S slices of W = ceil(V / S), s of them this
// rank's; P padded row length; N rows, n own rows.
#pragma once

#include <string>
#include <vector>

#include "trireme/layers/norm.hpp"
#include "trireme/layers/row_sums.hpp"

namespace trireme::layers {

/// Name of the head's table, or of the second gradient of a tied one.
inline constexpr const char* head_table_name = "head.weight";

struct HeadOptions {
  NormOptions norm;
  std::int64_t vocab = 0;
  std::int64_t width = 0;
  bool tied = false;       ///< reads the token embedding's weights; its gradient is a second one of that table
  bool far_table = false;  ///< tied, and the embedding is on another stage: the table here follows that one
  double initial_deviation = 0.02;
  int weight_bucket = 0;     ///< of the head's table, or of the second gradient
  int far_table_bucket = 0;  ///< of the table that follows
};

/// Logits are made and used chunk by chunk: never more than chunk_rows rows of this rank's slices exist.
class Head {
 public:
  /// A constant, so that no memory size changes the order of a sum.
  static constexpr std::int64_t chunk_rows = 256;

  struct Activations {
    NormStatistics statistics;
    tensor::Tensor normed;                ///< [n, D]
    tensor::Tensor gradient;              ///< [n, D]: of `normed`
    tensor::Tensor logits;                ///< [s, chunk_rows, P] fp32
    tensor::Tensor row_sums;              ///< of RowSums
    tensor::Tensor statistics_of_slices;  ///< [S + s, chunk_rows, 3] fp32: of all slices, then of this rank's
    tensor::Tensor normalizer;            ///< [chunk_rows, 2] fp32
  };

  Head(tensor::ParameterStore& parameters, const HeadOptions& options, const TensorAxis& axis);
  [[nodiscard]] Activations allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t rows) const;

  /// log_probability [N] of targets [N] given x [n, D], alike on all ranks of the axis; no gradient.
  void evaluate(const Context& context, std::int64_t rows, const tensor::Tensor& x, const tensor::Tensor& targets,
                const Activations& activations, const tensor::Tensor& log_probability) const;
  /// The same with the gradient of -sum_n coefficients[n] * log_probability[n]: dx [n, D] is set.
  void forward_backward(const Context& context, std::int64_t rows, const tensor::Tensor& x,
                        const tensor::Tensor& targets, const tensor::Tensor& coefficients,
                        const Activations& activations, const tensor::Tensor& log_probability, const tensor::Tensor& dx,
                        kernels::Write norm_write, kernels::Write weight_write) const;
  /// The logits [V] of the last of `rows` rows x [n, D], on every rank of the axis, for generation.
  void logits(const Context& context, std::int64_t rows, const tensor::Tensor& x, const Activations& activations,
              std::vector<float>& logits) const;
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const;

 private:
  struct Chunk;
  [[nodiscard]] std::int64_t row_length(const TensorAxis& axis) const;
  void log_probability_of_chunk(const Context& context, const Chunk& chunk, const tensor::Tensor& normed,
                                const tensor::Tensor& targets, const tensor::Tensor& coefficients,
                                const tensor::Tensor& log_probability) const;
  void chunk_backward(const Context& context, const Chunk& chunk, const tensor::Tensor& normed,
                      const tensor::Tensor& targets, const tensor::Tensor& coefficients, const tensor::Tensor& gradient,
                      kernels::Write write) const;

  HeadOptions options_;
  Norm norm_;
  RowSums row_sums_;
  std::vector<tensor::Parameter*> table_;     ///< hold the weights, of each slice of this rank
  std::vector<tensor::Parameter*> gradient_;  ///< hold the gradients
};

}  // namespace trireme::layers
