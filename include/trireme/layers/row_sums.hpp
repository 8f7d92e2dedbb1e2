// Gradients that are sums over rows (norms, biases of row-cut layers), while the rows are split along the tensor axis.
#pragma once

#include <vector>

#include "trireme/layers/context.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::layers {

/// The sums of one micro-batch: values [parameters, s, D] hold the sum over each row slice of this rank, filled in the
/// input pass; finish() adds them over all S row slices in the balanced tree and writes the gradients. One exchange for
/// all of a block.
class RowSums {
 public:
  /// Parameters of D elements each, replicated along the tensor axis.
  explicit RowSums(std::vector<tensor::Parameter*> parameters);
  [[nodiscard]] tensor::Tensor allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t width) const;
  /// Where the sum over row slice k for parameter number `index` goes: [D].
  [[nodiscard]] tensor::Tensor at(const Context& context, const tensor::Tensor& values, std::int64_t index,
                                  std::int64_t k) const;
  /// Collective over the tensor axis; values are used up.
  void finish(const Context& context, const tensor::Tensor& values, kernels::Write write) const;

 private:
  std::vector<tensor::Parameter*> parameters_;
};

}  // namespace trireme::layers
