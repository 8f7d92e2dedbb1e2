// Memory for a test's tensors, filled by a generator that is not the one under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/tensor/tensor.hpp"

namespace trireme::test {

/// A tensor with its memory.
template <class T>
class Array {
 public:
  explicit Array(const tensor::Shape& shape) : shape_(shape), values_(static_cast<std::size_t>(shape.size())) {}
  Array(const tensor::Shape& shape, std::vector<T> values) : shape_(shape), values_(std::move(values)) {}

  /// A view; an Array without elements still has an address.
  [[nodiscard]] tensor::Tensor tensor() {
    return {.data = values_.empty() ? static_cast<void*>(this) : values_.data(),
            .shape = shape_,
            .dtype = dtype_of<T>,
            .space = device::Space::host};
  }
  [[nodiscard]] std::vector<T>& values() { return values_; }
  [[nodiscard]] const std::vector<T>& values() const { return values_; }
  [[nodiscard]] std::vector<double> doubles() const { return {values_.begin(), values_.end()}; }

 private:
  tensor::Shape shape_;
  std::vector<T> values_;
};

/// Numbers in [low, high) by a linear congruential generator (Knuth, MMIX).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2862933555777941757U + 3037000493U) {}
  double next(double low, double high) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return low + (high - low) * static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  [[nodiscard]] Array<float> floats(const tensor::Shape& shape, double low = -2, double high = 2) {
    Array<float> result(shape);
    for (float& value : result.values()) value = static_cast<float>(next(low, high));
    return result;
  }
  [[nodiscard]] Array<std::int32_t> integers(const tensor::Shape& shape, int low, int high) {
    Array<std::int32_t> result(shape);
    for (std::int32_t& value : result.values()) value = low + static_cast<std::int32_t>(next(0, high - low));
    return result;
  }

 private:
  std::uint64_t state_;
};

}  // namespace trireme::test
