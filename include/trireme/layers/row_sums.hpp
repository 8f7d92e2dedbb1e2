// Gradients that are sums over rows (norms, biases of row-cut layers), while the rows are split along the tensor axis.
#pragma once

#include <vector>

#include "trireme/layers/context.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::layers {

/// The sums of one micro-batch: values [s, parameters, D] hold the sum over each row slice of this rank, filled in the
/// input pass; finish() adds them over all S row slices in the balanced tree and writes the gradients. One exchange for
/// all of a block.
class RowSums {
 public:
  /// Parameters of D elements each, replicated along the tensor axis.
  explicit RowSums(std::vector<tensor::Parameter*> parameters);
  [[nodiscard]] tensor::Tensor allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t width) const;
  /// Where the sum over row slice k for parameter number `index` goes: [D].
  [[nodiscard]] tensor::Tensor at(const tensor::Tensor& values, std::int64_t index, std::int64_t k) const;
  /// The sums of the columns of x [n, D], this rank's of `rows` rows, for parameter number `index`.
  void sum_columns(const Context& context, std::int64_t rows, const tensor::Tensor& x, std::int64_t index,
                   const tensor::Tensor& values) const;
  /// Collective over the tensor axis; values are used up.
  void finish(const Context& context, const tensor::Tensor& values, kernels::Write write) const;

  [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(parameters_.size()); }

 private:
  std::vector<tensor::Parameter*> parameters_;
};

}  // namespace trireme::layers
