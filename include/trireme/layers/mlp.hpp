// F mlp width.
#pragma once

#include <optional>
#include <string>

#include "trireme/device/arena.hpp"
#include "trireme/layers/linear.hpp"

namespace trireme::layers {

enum class MlpKind : std::uint8_t { gelu_tanh, gelu, swiglu };

struct MlpOptions {
  std::string name;
  MlpKind kind = MlpKind::gelu_tanh;
  std::int64_t width = 0;
  std::int64_t mlp_width = 0;
  bool bias = false;
  double initial_deviation = 0.02;
  double output_deviation = 0.02;
  int bucket = 0;
};

struct MlpActivations {
  tensor::Tensor up;      ///< [N, F] before the activation
  tensor::Tensor gate;    ///< [N, F] of SwiGLU, else empty
  tensor::Tensor hidden;  ///< [N, F] after it
};

struct MlpGradients {
  tensor::Tensor up, gate;
};

/// down(activation(up(x))), or down(silu(gate(x)) * up(x)).
class Mlp {
 public:
  Mlp(tensor::ParameterStore& parameters, const MlpOptions& options);
  [[nodiscard]] MlpActivations allocate(device::Arena& arena, std::int64_t rows) const;
  [[nodiscard]] MlpGradients allocate_gradients(device::Arena& arena, std::int64_t rows) const;
  void forward(const Context& context, const tensor::Tensor& x, const tensor::Tensor& y,
               const MlpActivations& activations) const;
  /// dx is set; the inner gradients are kept for backward_weight().
  void backward_input(const Context& context, const MlpActivations& activations, const tensor::Tensor& dy,
                      const MlpGradients& gradients, const tensor::Tensor& dx) const;
  void backward_weight(const Context& context, const MlpActivations& activations, const tensor::Tensor& x,
                       const tensor::Tensor& dy, const MlpGradients& gradients, kernels::Write write) const;
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const;

 private:
  MlpOptions options_;
  std::optional<Linear> gate_;
  Linear up_;
  Linear down_;
};

}  // namespace trireme::layers
