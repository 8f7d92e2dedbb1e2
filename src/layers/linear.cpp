#include "trireme/layers/linear.hpp"

#include "trireme/kernels/reduce.hpp"

namespace trireme::layers {

namespace {

using tensor::Parameter;
using tensor::Shape;
using tensor::Tensor;

Parameter weight_entry(const LinearOptions& options, const Shape& offset, const Shape& extent) {
  return {.name = options.name + ".weight",
          .global_shape = {options.out, options.in},
          .shard = {.offset = offset, .extent = extent},
          .initial = tensor::Initial::normal,
          .deviation = options.initial_deviation,
          .decays = true,
          .bucket = options.bucket};
}

Parameter bias_entry(const LinearOptions& options, std::int64_t begin, std::int64_t count) {
  return {.name = options.name + ".bias",
          .global_shape = {options.out},
          .shard = {.offset = {begin}, .extent = {count}},
          .initial = tensor::Initial::zeros,
          .bucket = options.bucket};
}

const Parameter& at(const std::vector<Parameter*>& entries, std::int64_t k) {
  return *entries[static_cast<std::size_t>(k)];
}

std::int64_t count_of(const std::vector<Parameter*>& entries) {
  return static_cast<std::int64_t>(entries.size());
}

}  // namespace

ColumnLinear::ColumnLinear(tensor::ParameterStore& parameters, const LinearOptions& options, std::int64_t num_slices,
                           Range slices, bool counted, tensor::Replicas replicas)
    : out_slice_(options.out / num_slices) {
  TRIREME_EXPECT(options.out % num_slices == 0 && slices.begin >= 0 && slices.end() <= num_slices);
  const auto add = [&](Parameter entry) {
    entry.counted = counted;
    entry.replicas = replicas;
    return &parameters.add(entry);
  };
  for (std::int64_t slice = slices.begin; slice < slices.end(); ++slice) {
    weights_.push_back(add(weight_entry(options, {slice * out_slice_, 0}, {out_slice_, options.in})));
  }
  if (!options.bias) return;
  for (std::int64_t slice = slices.begin; slice < slices.end(); ++slice) {
    biases_.push_back(add(bias_entry(options, slice * out_slice_, out_slice_)));
  }
}

void ColumnLinear::forward(const Context& context, std::int64_t k, const Tensor& x, const Tensor& y) const {
  context.gemm.forward(x, at(weights_, k).weight, biases_.empty() ? Tensor{} : at(biases_, k).weight, y);
}

void ColumnLinear::backward_input(const Context& context, std::int64_t k, const Tensor& dy, const Tensor& dx,
                                  kernels::Write write) const {
  context.gemm.backward_input(dy, at(weights_, k).weight, dx, write);
}

void ColumnLinear::backward_weight(const Context& context, std::int64_t k, const Tensor& dy, const Tensor& x,
                                   kernels::Write write) const {
  context.gemm.backward_weight(dy, x, at(weights_, k).gradient, write);
  if (biases_.empty()) return;
  kernels::column_sum(context.device, dy, at(biases_, k).gradient, write, context.scratch_floats());
}

std::int64_t ColumnLinear::scratch_bytes(std::int64_t rows) const {
  if (biases_.empty()) return 0;
  return kernels::column_sum_scratch_elements(rows, out_slice_) * static_cast<std::int64_t>(sizeof(float));
}

RowLinear::RowLinear(tensor::ParameterStore& parameters, const LinearOptions& options, const TensorAxis& axis) {
  TRIREME_EXPECT(options.in % axis.num_slices() == 0);
  const std::int64_t in_slice = options.in / axis.num_slices();
  for (std::int64_t slice = axis.slices().begin; slice < axis.slices().end(); ++slice) {
    weights_.push_back(&parameters.add(weight_entry(options, {0, slice * in_slice}, {options.out, in_slice})));
  }
  if (!options.bias) return;
  Parameter bias = bias_entry(options, 0, options.out);
  bias.counted = axis.rank() == 0;
  bias.replicas = tensor::Replicas::tensor_axis;
  bias_ = &parameters.add(bias);
}

void RowLinear::forward(const Context& context, std::int64_t rows, const Tensor& x, const Tensor& y,
                        Traffic traffic) const {
  const auto make = [&](std::int64_t k, std::int64_t begin, const Tensor& target) {
    // The first slice of all brings the bias, on whichever rank it is.
    const bool adds_bias = bias_ != nullptr && context.axis.slices().begin + k == 0;
    context.gemm.forward(x.rows(k * rows + begin, target.shape[0]), at(weights_, k).weight,
                         adds_bias ? bias_->weight : Tensor{}, target);
  };
  context.axis.sum_slices(rows, make, y, traffic);
}

void RowLinear::backward_input(const Context& context, const Tensor& dy, const Tensor& dx) const {
  const std::int64_t rows = dy.shape[0];
  for (std::int64_t k = 0; k < count_of(weights_); ++k) {
    context.gemm.backward_input(dy, at(weights_, k).weight, dx.rows(k * rows, rows), kernels::Write::set);
  }
}

void RowLinear::backward_weight(const Context& context, const Tensor& dy, const Tensor& x, kernels::Write write) const {
  const std::int64_t rows = dy.shape[0];
  for (std::int64_t k = 0; k < count_of(weights_); ++k) {
    context.gemm.backward_weight(dy, x.rows(k * rows, rows), at(weights_, k).gradient, write);
  }
}

}  // namespace trireme::layers
