#include "trireme/layers/linear.hpp"

#include "trireme/kernels/reduce.hpp"

namespace trireme::layers {

namespace {
constexpr std::int64_t float_bytes = sizeof(float);
}

Linear::Linear(tensor::ParameterStore& parameters, const LinearOptions& options) : options_(options) {
  const tensor::Shape weight_shape{options.out, options.in};
  weight_ = &parameters.add({.name = options.name + ".weight",
                             .global_shape = weight_shape,
                             .shard = tensor::whole(weight_shape),
                             .initial = tensor::Initial::normal,
                             .deviation = options.initial_deviation,
                             .decays = true,
                             .bucket = options.bucket});
  if (options.bias) {
    bias_ = &parameters.add({.name = options.name + ".bias",
                             .global_shape = {options.out},
                             .shard = tensor::whole({options.out}),
                             .initial = tensor::Initial::zeros,
                             .bucket = options.bucket});
  }
}

void Linear::forward(const Context& context, const tensor::Tensor& x, const tensor::Tensor& y) const {
  context.gemm.forward(x, weight_->weight, bias_ != nullptr ? bias_->weight : tensor::Tensor{}, y);
}

void Linear::backward_input(const Context& context, const tensor::Tensor& dy, const tensor::Tensor& dx,
                            kernels::Write write) const {
  context.gemm.backward_input(dy, weight_->weight, dx, write);
}

void Linear::backward_weight(const Context& context, const tensor::Tensor& x, const tensor::Tensor& dy,
                             kernels::Write write) const {
  context.gemm.backward_weight(dy, x, weight_->gradient, write);
  if (bias_ != nullptr) kernels::column_sum(context.device, dy, bias_->gradient, write, context.scratch_floats());
}

std::int64_t Linear::scratch_bytes(std::int64_t rows) const {
  return options_.bias ? kernels::column_sum_scratch_elements(rows, options_.out) * float_bytes : 0;
}

}  // namespace trireme::layers
