// Linear layers cut along the tensor axis: y = x W^T + b with W [out, in]. Each slice of this rank has its own entry of
// the parameter, contiguous in memory.
// N rows, n own rows, S slices of all ranks, s of this rank.
#pragma once

#include <string>
#include <vector>

#include "trireme/layers/context.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::layers {

struct LinearOptions {
  std::string name;
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = false;
  double initial_deviation = 0.02;
  int bucket = 0;
};

/// Cut by outputs: slice k makes columns k out / S ... of y. The calls are local; the sum over slices of the input's
/// gradient is the caller's (TensorAxis::sum_slices).
class ColumnLinear {
 public:
  /// slices: those of all ranks, and this rank's; counted: this rank's copy stands for `replicas`.
  ColumnLinear(tensor::ParameterStore& parameters, const LinearOptions& options, std::int64_t num_slices, Range slices,
               bool counted = true, tensor::Replicas replicas = tensor::Replicas::none);

  /// x [N, in] -> y [N, out / S] of slice k.
  void forward(const Context& context, std::int64_t k, const tensor::Tensor& x, const tensor::Tensor& y) const;
  /// dx [rows, in] is set, or added to, with dy W of slice k; dy [rows, out / S].
  void backward_input(const Context& context, std::int64_t k, const tensor::Tensor& dy, const tensor::Tensor& dx,
                      kernels::Write write) const;
  /// The gradients of slice k's weight and bias are set or added to. dy [N, out / S], x [N, in].
  void backward_weight(const Context& context, std::int64_t k, const tensor::Tensor& dy, const tensor::Tensor& x,
                       kernels::Write write) const;
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const;

 private:
  std::int64_t out_slice_;
  std::vector<tensor::Parameter*> weights_;  // of each slice of this rank
  std::vector<tensor::Parameter*> biases_;   // likewise, or empty
};

/// Cut by inputs: slice k reads columns k in / S ... of x; the sum over slices leaves every rank its rows of y.
class RowLinear {
 public:
  RowLinear(tensor::ParameterStore& parameters, const LinearOptions& options, const TensorAxis& axis);

  /// x [s N, in / S], slice after slice -> y [n, out], bias added.
  void forward(const Context& context, std::int64_t rows, const tensor::Tensor& x, const tensor::Tensor& y,
               Traffic traffic) const;
  /// dx [s N, in / S] is set; dy [N, out]: all rows.
  void backward_input(const Context& context, const tensor::Tensor& dy, const tensor::Tensor& dx) const;
  /// The gradient of the weight is set or added to. dy [N, out]: all rows; x as in forward(). The bias's gradient is a
  /// sum over rows: RowSums.
  void backward_weight(const Context& context, const tensor::Tensor& dy, const tensor::Tensor& x,
                       kernels::Write write) const;
  [[nodiscard]] tensor::Parameter* bias() const noexcept { return bias_; }

 private:
  std::vector<tensor::Parameter*> weights_;
  tensor::Parameter* bias_ = nullptr;
};

}  // namespace trireme::layers
