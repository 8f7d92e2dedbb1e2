#include "trireme/layers/norm.hpp"

#include "trireme/kernels/norm.hpp"

namespace trireme::layers {

Norm::Norm(tensor::ParameterStore& parameters, const NormOptions& options, const TensorAxis& axis) : options_(options) {
  tensor::Parameter gain{.name = options.name + ".gain",
                         .global_shape = {options.width},
                         .shard = tensor::whole({options.width}),
                         .initial = tensor::Initial::ones,
                         .bucket = options.bucket,
                         .counted = axis.rank() == 0,
                         .replicas = tensor::Replicas::tensor_axis};
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

void Norm::backward(const Context& context, std::int64_t rows, const tensor::Tensor& dy, const tensor::Tensor& x,
                    const NormStatistics& statistics, const tensor::Tensor& dx, kernels::Write dx_write,
                    const RowSums& row_sums, std::int64_t first_sum, const tensor::Tensor& sums) const {
  using kernels::Write;
  const tensor::Tensor scratch = context.scratch_floats();
  for (std::int64_t k = 0; k < context.axis.slices().count; ++k) {
    const Range slice = context.axis.row_slice(rows, k);
    const auto part = [&](const tensor::Tensor& of_rows) { return of_rows.rows(slice.begin, slice.count); };
    const tensor::Tensor dgain = row_sums.at(sums, first_sum, k);
    if (options_.kind == NormKind::layer) {
      const tensor::Tensor dbias = bias_ != nullptr ? row_sums.at(sums, first_sum + 1, k) : tensor::Tensor{};
      kernels::layer_norm_backward(context.device, part(dy), part(x), gain_->weight, part(statistics.mean),
                                   part(statistics.rstd), part(dx), dx_write, dgain, dbias, Write::set, scratch);
    } else {
      kernels::rms_norm_backward(context.device, part(dy), part(x), gain_->weight, part(statistics.rstd), part(dx),
                                 dx_write, dgain, Write::set, scratch);
    }
  }
}

std::vector<tensor::Parameter*> Norm::parameters() const {
  if (bias_ == nullptr) return {gain_};
  return {gain_, bias_};
}

std::int64_t Norm::scratch_bytes(std::int64_t rows) const {
  return kernels::norm_scratch_elements(rows, options_.width) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace trireme::layers
