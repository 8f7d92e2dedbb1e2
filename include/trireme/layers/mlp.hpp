// F mlp width; N rows, n own rows; S slices, s of them this rank's.
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

/// Slice after slice.
struct MlpActivations {
  tensor::Tensor up;      ///< [s N, F / S] before the activation
  tensor::Tensor gate;    ///< [s N, F / S] of SwiGLU, else empty
  tensor::Tensor hidden;  ///< [s N, F / S] after it
};

struct MlpGradients {
  tensor::Tensor up, gate;
};

/// down(activation(up(x))), or down(silu(gate(x)) * up(x)), cut by the columns of the mlp width.
class Mlp {
 public:
  Mlp(tensor::ParameterStore& parameters, const MlpOptions& options, const TensorAxis& axis);
  [[nodiscard]] MlpActivations allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t rows) const;
  [[nodiscard]] MlpGradients allocate_gradients(device::Arena& arena, const TensorAxis& axis, std::int64_t rows) const;
  /// x [n, D] -> y [n, D], of N rows.
  void forward(const Context& context, std::int64_t rows, const tensor::Tensor& x, const tensor::Tensor& y,
               const MlpActivations& activations) const;
  /// dx [n, D] is set; the inner gradients are kept for backward_weight().
  void backward_input(const Context& context, std::int64_t rows, const MlpActivations& activations,
                      const tensor::Tensor& dy, const MlpGradients& gradients, const tensor::Tensor& dx) const;
  /// x, dy [n, D]: gathered again.
  void backward_weight(const Context& context, std::int64_t rows, const MlpActivations& activations,
                       const tensor::Tensor& x, const tensor::Tensor& dy, const MlpGradients& gradients,
                       kernels::Write write) const;
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const;
  /// Of the down projection, or nullptr.
  [[nodiscard]] tensor::Parameter* row_bias() const noexcept { return down_.bias(); }

 private:
  MlpOptions options_;
  std::optional<ColumnLinear> gate_;
  ColumnLinear up_;
  RowLinear down_;
};

}  // namespace trireme::layers
