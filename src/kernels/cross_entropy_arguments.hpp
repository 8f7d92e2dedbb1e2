// What the cross-entropy kernels of host and device are called with; shapes as in trireme/kernels/cross_entropy.hpp.
#pragma once

#include <cstdint>

namespace trireme::kernels {

/// Where a row's three statistics lie: [N, 3].
enum Statistic : std::uint8_t { statistic_largest, statistic_sum, statistic_target, num_statistics };

/// One slice of the vocabulary.
struct CrossEntropySlice {
  std::int64_t rows;
  std::int64_t first_id, vocab, padded;
  float* logits;
  const std::int32_t* targets;
  float* statistics;  ///< written by the first pass, read by the gradient
};

/// Its gradient, which may lie over the logits, row over row.
template <class T>
struct CrossEntropyGradient {
  CrossEntropySlice slice;
  const float* coefficients;
  const float* normalizer;
  T* gradient;
  std::int64_t stride;  ///< elements from row to row
};

/// The statistics of all slices.
struct CrossEntropySlices {
  std::int64_t slices, rows;
  const float* statistics;
  const float* coefficients;  ///< may be nullptr
  float* log_probability;
  float* normalizer;
};

}  // namespace trireme::kernels
