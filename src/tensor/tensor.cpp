#include "trireme/tensor/tensor.hpp"

#include <algorithm>
#include <cstddef>

namespace trireme::tensor {

Shape::Shape(std::initializer_list<std::int64_t> extents) : num_dims_(static_cast<int>(extents.size())) {
  TRIREME_EXPECT(extents.size() <= max_dims);
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

std::int64_t Shape::size() const noexcept {
  std::int64_t product = 1;
  for (int dim = 0; dim < num_dims_; ++dim) product *= (*this)[dim];
  return product;
}

std::int64_t Shape::columns() const noexcept {
  return num_dims_ == 0 ? 1 : (*this)[num_dims_ - 1];
}

std::int64_t Shape::rows() const noexcept {
  const std::int64_t elements = size();
  return elements == 0 ? 0 : elements / columns();
}

std::string Shape::text() const {
  std::string list;
  for (int dim = 0; dim < num_dims_; ++dim) list += (dim == 0 ? "" : ", ") + std::to_string((*this)[dim]);
  return "[" + list + "]";
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t count) const {
  TRIREME_EXPECT(shape.num_dims() > 0);
  TRIREME_EXPECT(begin >= 0 && count >= 0 && begin + count <= shape[0]);
  Tensor view = *this;
  view.shape[0] = count;
  if (data != nullptr && shape[0] > 0) {
    view.data = static_cast<std::byte*>(data) + bytes() / static_cast<std::size_t>(shape[0]) * begin;
  }
  return view;
}

Tensor Tensor::reshaped(const Shape& other) const {
  TRIREME_EXPECT(other.size() == shape.size());
  Tensor view = *this;
  view.shape = other;
  return view;
}

Tensor allocate(device::Arena& arena, const Shape& shape, Dtype dtype, device::MemoryClass memory_class) {
  Tensor result;
  result.shape = shape;
  result.dtype = dtype;
  result.data = arena.allocate(result.bytes(), memory_class);
  return result;
}

}  // namespace trireme::tensor
