// The end of the model: final norm, logits, loss. V vocabulary, P padded row length.
#pragma once

#include <string>

#include "trireme/layers/norm.hpp"

namespace trireme::layers {

struct HeadOptions {
  NormOptions norm;
  std::int64_t vocab = 0;
  std::int64_t width = 0;
  bool tied = false;  ///< reads the token embedding's weights; its gradient is a second one of that table
  double initial_deviation = 0.02;
  int norm_bucket = 0;
  int weight_bucket = 0;
};

/// Logits are made and used chunk by chunk: never more than chunk_rows x P of them exist.
class Head {
 public:
  /// A constant, so that no memory size changes the order of a sum.
  static constexpr std::int64_t chunk_rows = 256;

  struct Activations {
    NormStatistics statistics;
    tensor::Tensor normed;    ///< [N, D]
    tensor::Tensor gradient;  ///< [N, D]: of `normed`
    tensor::Tensor logits;    ///< [chunk_rows, P] fp32
  };

  Head(tensor::ParameterStore& parameters, const HeadOptions& options);
  [[nodiscard]] Activations allocate(device::Arena& arena, std::int64_t rows) const;

  /// log_probability [N] of targets [N] given x [N, D]; no gradient.
  void evaluate(const Context& context, const tensor::Tensor& x, const tensor::Tensor& targets,
                const Activations& activations, const tensor::Tensor& log_probability) const;
  /// The same with the gradient of -sum_n coefficients[n] * log_probability[n]: dx [N, D] is set.
  void forward_backward(const Context& context, const tensor::Tensor& x, const tensor::Tensor& targets,
                        const tensor::Tensor& coefficients, const Activations& activations,
                        const tensor::Tensor& log_probability, const tensor::Tensor& dx, kernels::Write norm_write,
                        kernels::Write weight_write) const;
  /// logits [rows, P] of x [rows, D], rows <= chunk_rows, for generation.
  void logits(const Context& context, const tensor::Tensor& x, const Activations& activations) const;
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const;
  [[nodiscard]] std::int64_t vocab() const noexcept { return options_.vocab; }

 private:
  [[nodiscard]] const tensor::Tensor& weight() const { return table_->weight; }
  HeadOptions options_;
  Norm norm_;
  tensor::Parameter* table_ = nullptr;     ///< holds the weights
  tensor::Parameter* gradient_ = nullptr;  ///< holds the gradient
};

}  // namespace trireme::layers
