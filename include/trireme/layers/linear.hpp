#pragma once

#include <string>

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

/// y = x W^T + b with W [out, in].
class Linear {
 public:
  Linear(tensor::ParameterStore& parameters, const LinearOptions& options);

  /// x [N, in] -> y [N, out].
  void forward(const Context& context, const tensor::Tensor& x, const tensor::Tensor& y) const;
  /// dx [N, in] is set, or added to, with dy W.
  void backward_input(const Context& context, const tensor::Tensor& dy, const tensor::Tensor& dx,
                      kernels::Write write) const;
  /// The gradients of weight and bias are set or added to.
  void backward_weight(const Context& context, const tensor::Tensor& x, const tensor::Tensor& dy,
                       kernels::Write write) const;

  [[nodiscard]] std::int64_t in() const noexcept { return options_.in; }
  [[nodiscard]] std::int64_t out() const noexcept { return options_.out; }
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const;

 private:
  LinearOptions options_;
  tensor::Parameter* weight_ = nullptr;
  tensor::Parameter* bias_ = nullptr;
};

}  // namespace trireme::layers
