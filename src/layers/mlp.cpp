#include "trireme/layers/mlp.hpp"

#include <algorithm>

#include "trireme/kernels/activation.hpp"

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

std::optional<Linear> make_gate(tensor::ParameterStore& parameters, const MlpOptions& options) {
  if (options.kind != MlpKind::swiglu) return std::nullopt;
  return Linear(parameters, projection(options, "gate", options.width, options.mlp_width, options.initial_deviation));
}

kernels::Gelu gelu_of(MlpKind kind) {
  return kind == MlpKind::gelu ? kernels::Gelu::exact : kernels::Gelu::tanh;
}

}  // namespace

Mlp::Mlp(tensor::ParameterStore& parameters, const MlpOptions& options)
    : options_(options),
      gate_(make_gate(parameters, options)),
      up_(parameters, projection(options, "up", options.width, options.mlp_width, options.initial_deviation)),
      down_(parameters, projection(options, "down", options.mlp_width, options.width, options.output_deviation)) {}

MlpActivations Mlp::allocate(device::Arena& arena, std::int64_t rows) const {
  const auto make = [&] {
    return tensor::allocate(arena, {rows, options_.mlp_width}, Dtype::f32, device::MemoryClass::activations);
  };
  MlpActivations activations{.up = make(), .gate = {}, .hidden = make()};
  if (gate_) activations.gate = make();
  return activations;
}

MlpGradients Mlp::allocate_gradients(device::Arena& arena, std::int64_t rows) const {
  const auto make = [&] {
    return tensor::allocate(arena, {rows, options_.mlp_width}, Dtype::f32, device::MemoryClass::activations);
  };
  MlpGradients gradients{.up = make(), .gate = {}};
  if (gate_) gradients.gate = make();
  return gradients;
}

void Mlp::forward(const Context& context, const Tensor& x, const Tensor& y, const MlpActivations& activations) const {
  const std::int64_t rows = x.shape.rows();
  const Tensor up = activations.up.rows(0, rows);
  const Tensor hidden = activations.hidden.rows(0, rows);
  up_.forward(context, x, up);
  if (gate_) {
    const Tensor gate = activations.gate.rows(0, rows);
    gate_->forward(context, x, gate);
    kernels::swiglu_forward(context.device, gate, up, hidden);
  } else {
    kernels::gelu_forward(context.device, gelu_of(options_.kind), up, hidden);
  }
  down_.forward(context, hidden, y);
}

void Mlp::backward_input(const Context& context, const MlpActivations& activations, const Tensor& dy,
                         const MlpGradients& gradients, const Tensor& dx) const {
  using kernels::Write;
  down_.backward_input(context, dy, gradients.up, Write::set);
  if (gate_) {
    kernels::swiglu_backward(context.device, gradients.up, activations.gate, activations.up, gradients.gate,
                             gradients.up);
    gate_->backward_input(context, gradients.gate, dx, Write::set);
    up_.backward_input(context, gradients.up, dx, Write::add);
  } else {
    kernels::gelu_backward(context.device, gelu_of(options_.kind), gradients.up, activations.up, gradients.up);
    up_.backward_input(context, gradients.up, dx, Write::set);
  }
}

void Mlp::backward_weight(const Context& context, const MlpActivations& activations, const Tensor& x, const Tensor& dy,
                          const MlpGradients& gradients, kernels::Write write) const {
  down_.backward_weight(context, activations.hidden, dy, write);
  if (gate_) gate_->backward_weight(context, x, gradients.gate, write);
  up_.backward_weight(context, x, gradients.up, write);
}

std::int64_t Mlp::scratch_bytes(std::int64_t rows) const {
  return std::max(up_.scratch_bytes(rows), down_.scratch_bytes(rows));
}

}  // namespace trireme::layers
