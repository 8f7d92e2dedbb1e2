// Sums whose order is fixed, or does not matter because they are exact.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "trireme/device/device.hpp"
#include "trireme/kernels/write.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// A sum of doubles kept as one long integer (fixed point over the whole range of double): exact, so any order and any
/// split over ranks gives the same bits. Words of different ranks are added as integers. Up to 2^30 additions.
/// Source of the idea: Kulisch's long accumulator.
class ExactSum {
 public:
  static constexpr int num_words = 70;
  /// Adds a value; NaN and infinities are counted apart and make value() NaN.
  void add(double value);
  void add(const ExactSum& other);
  /// The sum, rounded once to the nearest double.
  [[nodiscard]] double value() const;
  /// The words to be added across ranks (element-wise, as integers).
  [[nodiscard]] std::span<std::int64_t> words() noexcept { return words_; }

 private:
  std::array<std::int64_t, num_words> words_{};
};

/// Rows are cut in runs of at most this many elements; a run's squares are summed in double, runs are added exactly.
inline constexpr std::int64_t run_elements = 1024;

/// Adds the squares of gradient (+ second_gradient, unless nullptr) to `sum`. rows x columns contiguous fp32.
void sum_of_squares(const device::Device& device, std::int64_t rows, std::int64_t columns, const float* gradient,
                    const float* second_gradient, ExactSum& sum);

/// target[i] += source[i], count elements of fp32: the tree additions of gradients.
void add_to(const device::Device& device, std::int64_t count, const float* source, float* target);

/// parts [count, elements] fp32: the first becomes the sum of all, added in the balanced binary tree
/// ((0+1)+(2+3))+...; for other counts than powers of two the left subtree holds the largest power of two. The others
/// are scratch.
void tree_sum(const device::Device& device, float* parts, std::int64_t count, std::int64_t elements);

/// out[d] (set or added) = sum over rows of x [N, D]: fixed blocks of 32 rows added in a balanced tree (bias
/// gradients). scratch: column_sum_scratch_elements(N, D) fp32; out [D] fp32.
void column_sum(const device::Device& device, const tensor::Tensor& x, const tensor::Tensor& out, Write write,
                const tensor::Tensor& scratch);
[[nodiscard]] std::int64_t column_sum_scratch_elements(std::int64_t rows, std::int64_t columns);

/// True when every element (fp32, bf16 or fp16) is finite.
[[nodiscard]] bool all_finite(const device::Device& device, const tensor::Tensor& values);

}  // namespace trireme::kernels
