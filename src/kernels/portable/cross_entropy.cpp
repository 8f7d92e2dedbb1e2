#include "kernels/portable/cross_entropy.hpp"

#include <cmath>

#include <Kokkos_Core.hpp>

#include "kernels/element.hpp"

namespace trireme::kernels::portable {

namespace {

/// The place of a row's target in the slice, or -1.
KOKKOS_INLINE_FUNCTION std::int64_t target_of(const CrossEntropySlice& slice, std::int64_t row) {
  const std::int64_t target = slice.targets[row] - slice.first_id;
  return target >= 0 && target < slice.vocab ? target : -1;
}

struct RowStatistics {
  CrossEntropySlice slice;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    float* x = slice.logits + row * slice.padded;
    float* statistics = slice.statistics + num_statistics * row;
    float largest = -INFINITY;
    for (std::int64_t i = 0; i < slice.vocab; ++i) largest = fmaxf(largest, x[i]);
    const std::int64_t target = target_of(slice, row);
    statistics[statistic_largest] = largest;
    statistics[statistic_target] = target >= 0 ? x[target] : 0.0F;
    // Where every logit is -infinity, its power is 0 all the same.
    const float origin = largest == -INFINITY ? 0.0F : largest;
    float sum = 0;
    for (std::int64_t i = 0; i < slice.vocab; ++i) sum += x[i] = expf(x[i] - origin);
    statistics[statistic_sum] = sum;
  }
};

struct SliceCombiner {
  CrossEntropySlices p;

  KOKKOS_INLINE_FUNCTION float statistic(std::int64_t slice, std::int64_t row, Statistic which) const {
    return p.statistics[num_statistics * (slice * p.rows + row) + which];
  }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    float largest = -INFINITY;
    float target = 0;
    for (std::int64_t slice = 0; slice < p.slices; ++slice) {
      largest = fmaxf(largest, statistic(slice, row, statistic_largest));
      target += statistic(slice, row, statistic_target);
    }
    const float sum = tree_sum(row, largest);
    const bool counts = p.coefficients == nullptr || p.coefficients[row] != 0;
    p.log_probability[row] = counts ? target - largest - logf(sum) : 0.0F;
    p.normalizer[2 * row] = largest;
    p.normalizer[2 * row + 1] = sum;
  }

  // Level l of `pending` holds the sum of 2^l slices where their number so far has that bit.
  KOKKOS_INLINE_FUNCTION float tree_sum(std::int64_t row, float largest) const {
    float pending[32];
    for (std::int64_t slice = 0; slice < p.slices; ++slice) {
      float sum = expf(statistic(slice, row, statistic_largest) - largest) * statistic(slice, row, statistic_sum);
      int level = 0;
      for (; ((slice >> level) & 1) != 0; ++level) sum = pending[level] + sum;
      pending[level] = sum;
    }
    float total = 0;
    for (int level = 0; (p.slices >> level) != 0; ++level) {
      if (((p.slices >> level) & 1) != 0) total = pending[level] + total;
    }
    return total;
  }
};

template <class T>
struct RowGradient {
  CrossEntropyGradient<T> p;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    const CrossEntropySlice& slice = p.slice;
    const float* x = slice.logits + row * slice.padded;
    T* gradient = p.gradient + row * p.stride;
    const float coefficient = p.coefficients[row];
    const float* all = p.normalizer + 2 * row;
    const float factor =
        coefficient * expf(slice.statistics[num_statistics * row + statistic_largest] - all[0]) / all[1];
    const std::int64_t target = target_of(slice, row);
    // In ascending order, since the gradient may lie over the logits.
    for (std::int64_t i = 0; i < slice.padded; ++i) {
      gradient[i] = from_float<T>(
          i < slice.vocab && coefficient != 0 ? x[i] * factor - (i == target ? coefficient : 0.0F) : 0.0F);
    }
  }
};

}  // namespace

void cross_entropy_statistics(const CrossEntropySlice& slice) {
  Kokkos::parallel_for("trireme::cross_entropy_statistics", Kokkos::RangePolicy<>(0, slice.rows), RowStatistics{slice});
}

void cross_entropy_combine(const CrossEntropySlices& slices) {
  Kokkos::parallel_for("trireme::cross_entropy_combine", Kokkos::RangePolicy<>(0, slices.rows), SliceCombiner{slices});
}

template <class T>
void cross_entropy_gradient(const CrossEntropyGradient<T>& gradient) {
  Kokkos::parallel_for("trireme::cross_entropy_gradient", Kokkos::RangePolicy<>(0, gradient.slice.rows),
                       RowGradient<T>{gradient});
}

template void cross_entropy_gradient(const CrossEntropyGradient<float>&);
template void cross_entropy_gradient(const CrossEntropyGradient<Bf16>&);
template void cross_entropy_gradient(const CrossEntropyGradient<Fp16>&);

}  // namespace trireme::kernels::portable
