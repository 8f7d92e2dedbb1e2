#pragma once

#include <string>

#include "trireme/device/arena.hpp"
#include "trireme/layers/context.hpp"
#include "trireme/layers/row_sums.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::layers {

enum class NormKind : std::uint8_t { layer, rms };

struct NormOptions {
  std::string name;
  NormKind kind = NormKind::layer;
  std::int64_t width = 0;
  double epsilon = 1e-5;
  bool bias = true;  ///< LayerNorm only
  int bucket = 0;
};

/// Per-row statistics that the backward pass reads.
struct NormStatistics {
  tensor::Tensor mean;  ///< [N] fp32 (LayerNorm only)
  tensor::Tensor rstd;  ///< [N] fp32
};

/// LayerNorm or RMSNorm over the width.
class Norm {
 public:
  Norm(tensor::ParameterStore& parameters, const NormOptions& options, const TensorAxis& axis);

  [[nodiscard]] NormStatistics allocate(device::Arena& arena, std::int64_t rows) const;
  /// x, y [n, D].
  void forward(const Context& context, const tensor::Tensor& x, const tensor::Tensor& y,
               const NormStatistics& statistics) const;
  /// dx [n, D] is set or added to; the gradients of gain and bias are summed over each row slice of the N rows of which
  /// these are this rank's, into numbers first_sum and first_sum + 1 of `sums`.
  void backward(const Context& context, std::int64_t rows, const tensor::Tensor& dy, const tensor::Tensor& x,
                const NormStatistics& statistics, const tensor::Tensor& dx, kernels::Write dx_write,
                const RowSums& row_sums, std::int64_t first_sum, const tensor::Tensor& sums) const;
  /// Gain, and bias where there is one: what RowSums is told.
  [[nodiscard]] std::vector<tensor::Parameter*> parameters() const;
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const;

 private:
  NormOptions options_;
  tensor::Parameter* gain_ = nullptr;
  tensor::Parameter* bias_ = nullptr;
};

}  // namespace trireme::layers
