#include "trireme/layers/norm.hpp"

#include "trireme/kernels/norm.hpp"

namespace trireme::layers {

Norm::Norm(tensor::ParameterStore& parameters, const NormOptions& options) : options_(options) {
  tensor::Parameter gain{.name = options.name + ".gain",
                         .global_shape = {options.width},
                         .shard = tensor::whole({options.width}),
                         .initial = tensor::Initial::ones,
                         .bucket = options.bucket};
  gain_ = &parameters.add(gain);
  if (options.kind == NormKind::layer && options.bias) {
    tensor::Parameter bias = gain;
    bias.name = options.name + ".bias";
    bias.initial = tensor::Initial::zeros;
    bias_ = &parameters.add(bias);
  }
}

NormStatistics Norm::allocate(device::Arena& arena, std::int64_t rows) const {
  NormStatistics statistics;
  if (options_.kind == NormKind::layer) {
    statistics.mean = tensor::allocate(arena, {rows}, Dtype::f32, device::MemoryClass::activations);
  }
  statistics.rstd = tensor::allocate(arena, {rows}, Dtype::f32, device::MemoryClass::activations);
  return statistics;
}

void Norm::forward(const Context& context, const tensor::Tensor& x, const tensor::Tensor& y,
                   const NormStatistics& statistics) const {
  const auto epsilon = static_cast<float>(options_.epsilon);
  const std::int64_t rows = x.shape.rows();
  if (options_.kind == NormKind::layer) {
    kernels::layer_norm_forward(context.device, x, gain_->weight, bias_ != nullptr ? bias_->weight : tensor::Tensor{},
                                epsilon, y, statistics.mean.rows(0, rows), statistics.rstd.rows(0, rows));
  } else {
    kernels::rms_norm_forward(context.device, x, gain_->weight, epsilon, y, statistics.rstd.rows(0, rows));
  }
}

void Norm::backward(const Context& context, const tensor::Tensor& dy, const tensor::Tensor& x,
                    const NormStatistics& statistics, const tensor::Tensor& dx, kernels::Write dx_write,
                    kernels::Write parameter_write) const {
  const tensor::Tensor scratch = context.scratch_floats();
  const std::int64_t rows = x.shape.rows();
  if (options_.kind == NormKind::layer) {
    kernels::layer_norm_backward(context.device, dy, x, gain_->weight, statistics.mean.rows(0, rows),
                                 statistics.rstd.rows(0, rows), dx, dx_write, gain_->gradient,
                                 bias_ != nullptr ? bias_->gradient : tensor::Tensor{}, parameter_write, scratch);
  } else {
    kernels::rms_norm_backward(context.device, dy, x, gain_->weight, statistics.rstd.rows(0, rows), dx, dx_write,
                               gain_->gradient, parameter_write, scratch);
  }
}

std::int64_t Norm::scratch_bytes(std::int64_t rows) const {
  return kernels::norm_scratch_elements(rows, options_.width) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace trireme::layers
