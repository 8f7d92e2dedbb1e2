#include "trireme/layers/mlp.hpp"

#include <algorithm>

#include "trireme/kernels/activation.hpp"

#include "layers/views.hpp"

namespace trireme::layers {

namespace {

using tensor::Tensor;

LinearOptions projection(const MlpOptions& options, const char* part, std::int64_t in, std::int64_t out,
                         double deviation) {
  return {.name = options.name + "." + part,
          .in = in,
          .out = out,
          .bias = options.bias,
          .initial_deviation = deviation,
          .bucket = options.bucket};
}

ColumnLinear make_column(tensor::ParameterStore& parameters, const MlpOptions& options, const char* part,
                         const TensorAxis& axis) {
  return {parameters, projection(options, part, options.width, options.mlp_width, options.initial_deviation),
          axis.num_slices(), axis.slices()};
}

std::optional<ColumnLinear> make_gate(tensor::ParameterStore& parameters, const MlpOptions& options,
                                      const TensorAxis& axis) {
  if (options.kind != MlpKind::swiglu) return std::nullopt;
  return make_column(parameters, options, "gate", axis);
}

kernels::Gelu gelu_of(MlpKind kind) {
  return kind == MlpKind::gelu ? kernels::Gelu::exact : kernels::Gelu::tanh;
}

/// [s N, F / S] of all of this rank's slices.
tensor::Shape inner_shape(const MlpOptions& options, const TensorAxis& axis, std::int64_t rows) {
  return {axis.slices().count * rows, options.mlp_width / axis.num_slices()};
}

}  // namespace

Mlp::Mlp(tensor::ParameterStore& parameters, const MlpOptions& options, const TensorAxis& axis)
    : options_(options),
      gate_(make_gate(parameters, options, axis)),
      up_(make_column(parameters, options, "up", axis)),
      down_(parameters, projection(options, "down", options.mlp_width, options.width, options.output_deviation), axis) {
}

MlpActivations Mlp::allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t rows) const {
  const auto make = [&] { return allocate_activation(arena, inner_shape(options_, axis, rows), axis.compute()); };
  MlpActivations activations{.up = make(), .gate = {}, .hidden = make()};
  if (gate_) activations.gate = make();
  return activations;
}

MlpGradients Mlp::allocate_gradients(device::Arena& arena, const TensorAxis& axis, std::int64_t rows) const {
  const auto make = [&] { return allocate_activation(arena, inner_shape(options_, axis, rows), axis.compute()); };
  MlpGradients gradients{.up = make(), .gate = {}};
  if (gate_) gradients.gate = make();
  return gradients;
}

void Mlp::forward(const Context& context, std::int64_t rows, const Tensor& x, const Tensor& y,
                  const MlpActivations& activations) const {
  const std::int64_t slices = context.axis.slices().count;
  const auto used = [&](const Tensor& inner) { return inner.rows(0, slices * rows); };
  const Tensor all = context.axis.gather_rows(x, rows, Traffic::mlp);
  for (std::int64_t k = 0; k < slices; ++k) {
    up_.forward(context, k, all, activations.up.rows(k * rows, rows));
    if (gate_) gate_->forward(context, k, all, activations.gate.rows(k * rows, rows));
  }
  const Tensor hidden = used(activations.hidden);
  if (gate_) {
    kernels::swiglu_forward(context.device, used(activations.gate), used(activations.up), hidden);
  } else {
    kernels::gelu_forward(context.device, gelu_of(options_.kind), used(activations.up), hidden);
  }
  down_.forward(context, rows, hidden, y, Traffic::mlp);
}

void Mlp::backward_input(const Context& context, std::int64_t rows, const MlpActivations& activations, const Tensor& dy,
                         const MlpGradients& gradients, const Tensor& dx) const {
  using kernels::Write;
  const std::int64_t slices = context.axis.slices().count;
  const auto used = [&](const Tensor& inner) { return inner.rows(0, slices * rows); };
  const Tensor up = used(gradients.up);
  down_.backward_input(context, context.axis.gather_rows(dy, rows, Traffic::mlp), up);
  if (gate_) {
    kernels::swiglu_backward(context.device, up, used(activations.gate), used(activations.up), used(gradients.gate),
                             up);
  } else {
    kernels::gelu_backward(context.device, gelu_of(options_.kind), up, used(activations.up), up);
  }
  const auto make = [&](std::int64_t k, std::int64_t begin, const Tensor& target) {
    const auto part = [&](const Tensor& inner) { return inner.rows(k * rows + begin, target.shape[0]); };
    if (gate_) gate_->backward_input(context, k, part(gradients.gate), target, Write::set);
    up_.backward_input(context, k, part(gradients.up), target, gate_ ? Write::add : Write::set);
  };
  context.axis.sum_slices(rows, make, dx, Traffic::mlp);
}

void Mlp::backward_weight(const Context& context, std::int64_t rows, const MlpActivations& activations, const Tensor& x,
                          const Tensor& dy, const MlpGradients& gradients, kernels::Write write) const {
  down_.backward_weight(context, context.axis.gather_rows(dy, rows, Traffic::mlp), activations.hidden, write);
  const Tensor all = context.axis.gather_rows(x, rows, Traffic::mlp);
  for (std::int64_t k = 0; k < context.axis.slices().count; ++k) {
    if (gate_) gate_->backward_weight(context, k, gradients.gate.rows(k * rows, rows), all, write);
    up_.backward_weight(context, k, gradients.up.rows(k * rows, rows), all, write);
  }
}

std::int64_t Mlp::scratch_bytes(std::int64_t rows) const {
  return up_.scratch_bytes(rows);
}

}  // namespace trireme::layers
