// Shape and Tensor: a view of memory that somebody else owns.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "trireme/base/dtype.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"

namespace trireme::tensor {

/// Up to four extents, slowest first (row-major).
class Shape {
 public:
  static constexpr int max_dims = 4;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents);
  [[nodiscard]] int num_dims() const noexcept { return num_dims_; }
  [[nodiscard]] std::int64_t operator[](int dim) const { return extents_[static_cast<std::size_t>(dim)]; }
  std::int64_t& operator[](int dim) { return extents_[static_cast<std::size_t>(dim)]; }
  /// Product of the extents; 1 without dimensions.
  [[nodiscard]] std::int64_t size() const noexcept;
  /// Extent of the last dimension (1 without dimensions): the row length.
  [[nodiscard]] std::int64_t columns() const noexcept;
  /// size() / columns(), 0 when empty.
  [[nodiscard]] std::int64_t rows() const noexcept;
  bool operator==(const Shape&) const = default;
  /// `[768, 3072]`
  [[nodiscard]] std::string text() const;

 private:
  std::array<std::int64_t, max_dims> extents_{};
  int num_dims_ = 0;
};

/// Contiguous row-major data at a pointer. A value type: copying it copies the view.
struct Tensor {
  void* data = nullptr;
  Shape shape;
  Dtype dtype = Dtype::f32;
  device::Space space = device::Space::host;

  template <class T>
  [[nodiscard]] T* as() const {
    TRIREME_EXPECT(dtype == dtype_of<T>);
    return static_cast<T*>(data);
  }
  [[nodiscard]] std::int64_t size() const noexcept { return shape.size(); }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(shape.size()) * size_of(dtype); }
  [[nodiscard]] bool empty() const noexcept { return data == nullptr; }
  /// The view of `count` entries of the first dimension from `begin`.
  [[nodiscard]] Tensor rows(std::int64_t begin, std::int64_t count) const;
  /// The same memory under another shape of equal size.
  [[nodiscard]] Tensor reshaped(const Shape& other) const;
};

/// A zeroed tensor in the arena (data == nullptr when the arena only measures).
[[nodiscard]] Tensor allocate(device::Arena& arena, const Shape& shape, Dtype dtype, device::MemoryClass memory_class);

}  // namespace trireme::tensor
