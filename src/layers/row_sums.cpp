#include "trireme/layers/row_sums.hpp"

#include <cstring>
#include <utility>

#include "trireme/kernels/reduce.hpp"

#include "layers/views.hpp"

namespace trireme::layers {

using tensor::Tensor;

RowSums::RowSums(std::vector<tensor::Parameter*> parameters) : parameters_(std::move(parameters)) {}

Tensor RowSums::allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t width) const {
  return allocate_activation(arena, {axis.slices().count, size(), width}, Dtype::f32);
}

Tensor RowSums::at(const Tensor& values, std::int64_t index, std::int64_t k) const {
  TRIREME_EXPECT(index < size());
  return slice_view(values, k * size() + index, {values.shape.columns()});
}

void RowSums::sum_columns(const Context& context, std::int64_t rows, const Tensor& x, std::int64_t index,
                          const Tensor& values) const {
  for (std::int64_t k = 0; k < values.shape[0]; ++k) {
    const Range slice = context.axis.row_slice(rows, k);
    kernels::column_sum(context.device, x.rows(slice.begin, slice.count), at(values, index, k), kernels::Write::set,
                        context.scratch_floats());
  }
}

void RowSums::finish(const Context& context, const Tensor& values, kernels::Write write) const {
  const std::int64_t width = values.shape.columns();
  context.axis.sum_row_slices(values.as<float>(), size() * width, Traffic::norms);
  for (std::int64_t index = 0; index < size(); ++index) {
    const Tensor sum = at(values, index, 0);
    const Tensor& gradient = parameters_[static_cast<std::size_t>(index)]->gradient;
    if (write == kernels::Write::set) {
      std::memcpy(gradient.data, sum.data, sum.bytes());
    } else {
      kernels::add_to(context.device, width, sum.as<float>(), gradient.as<float>());
    }
  }
}

}  // namespace trireme::layers
