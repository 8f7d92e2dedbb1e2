#include "kernels/portable/norm.hpp"

#include <cmath>

#include <Kokkos_Core.hpp>

#include "kernels/element.hpp"
#include "kernels/row_blocks.hpp"

namespace trireme::kernels::portable {

namespace {

using Member = Kokkos::TeamPolicy<>::member_type;

/// The sum of term(k) over the width, by the members of a team; all of them get it.
template <class Term>
KOKKOS_INLINE_FUNCTION float sum_columns(const Member& member, std::int64_t width, const Term& term) {
  float sum = 0;
  Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(member, width), [&](std::int64_t k, float& part) { part += term(k); }, sum);
  return sum;
}

/// A team normalizes a row.
template <class T>
struct RowNormalizer {
  NormForward<T> norm;

  KOKKOS_INLINE_FUNCTION void operator()(const Member& member) const {
    const std::int64_t row = member.league_rank();
    const T* x = norm.x + row * norm.width;
    T* y = norm.y + row * norm.width;
    const auto width = static_cast<float>(norm.width);
    float mean = 0;
    if (norm.mean != nullptr) {
      mean = sum_columns(member, norm.width, [&](std::int64_t k) { return to_float(x[k]); }) / width;
    }
    const float squares = sum_columns(member, norm.width, [&](std::int64_t k) {
      const float deviation = to_float(x[k]) - mean;
      return deviation * deviation;
    });
    const float rstd = 1.0F / std::sqrt(squares / width + norm.epsilon);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, norm.width), [&](std::int64_t k) {
      const float bias = norm.bias != nullptr ? norm.bias[k] : 0.0F;
      y[k] = from_float<T>((to_float(x[k]) - mean) * rstd * norm.gain[k] + bias);
    });
    Kokkos::single(Kokkos::PerTeam(member), [&]() {
      if (norm.mean != nullptr) norm.mean[row] = mean;
      norm.rstd[row] = rstd;
    });
  }
};

/// A team takes a row's gradient back through the norm.
template <class T>
struct RowDifferentiator {
  NormBackward<T> norm;

  KOKKOS_INLINE_FUNCTION void operator()(const Member& member) const {
    const std::int64_t row = member.league_rank();
    const T* dy = norm.dy + row * norm.width;
    const T* x = norm.x + row * norm.width;
    T* dx = norm.dx + row * norm.width;
    const bool centered = norm.mean != nullptr;
    const float mean = centered ? norm.mean[row] : 0.0F;
    const float rstd = norm.rstd[row];
    const auto width = static_cast<float>(norm.width);
    const auto gradient = [&](std::int64_t k) { return to_float(dy[k]) * norm.gain[k]; };
    const auto normalized = [&](std::int64_t k) { return (to_float(x[k]) - mean) * rstd; };
    const float slope =
        sum_columns(member, norm.width, [&](std::int64_t k) { return gradient(k) * normalized(k); }) / width;
    const float offset = centered ? sum_columns(member, norm.width, gradient) / width : 0.0F;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, norm.width), [&](std::int64_t k) {
      const float result = (gradient(k) - offset - normalized(k) * slope) * rstd;
      dx[k] = from_float<T>(norm.adds_dx ? to_float(dx[k]) + result : result);
    });
  }
};

/// Sums the parameters' gradients of one column over a block of rows.
template <class T>
struct BlockAdder {
  NormBackward<T> norm;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t block = i / norm.width;
    const std::int64_t k = i % norm.width;
    const std::int64_t begin = block * block_rows;
    const std::int64_t end = begin + block_rows < norm.rows ? begin + block_rows : norm.rows;
    float dgain = 0;
    float dbias = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      const float dy = to_float(norm.dy[row * norm.width + k]);
      const float mean = norm.mean != nullptr ? norm.mean[row] : 0.0F;
      dgain += dy * ((to_float(norm.x[row * norm.width + k]) - mean) * norm.rstd[row]);
      dbias += dy;
    }
    norm.scratch[2 * block * norm.width + k] = dgain;
    norm.scratch[(2 * block + 1) * norm.width + k] = dbias;
  }
};

/// Adds the blocks' sums of one column in a balanced tree; column D + k is dbias[k].
struct TreeAdder {
  std::int64_t blocks;
  std::int64_t width;
  float* scratch;
  float* dgain;
  float* dbias;
  bool adds;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t column) const {
    float* sums = scratch + column;
    const std::int64_t stride = 2 * width;
    for (std::int64_t step = 1; step < blocks; step *= 2) {
      for (std::int64_t block = 0; block + step < blocks; block += 2 * step) {
        sums[block * stride] += sums[(block + step) * stride];
      }
    }
    const float total = blocks > 0 ? sums[0] : 0.0F;
    float& out = column < width ? dgain[column] : dbias[column - width];
    out = adds ? out + total : total;
  }
};

}  // namespace

template <class T>
void norm_forward(const NormForward<T>& norm) {
  Kokkos::parallel_for("trireme::norm_forward", Kokkos::TeamPolicy<>(static_cast<int>(norm.rows), Kokkos::AUTO),
                       RowNormalizer<T>{norm});
}

template <class T>
void norm_backward(const NormBackward<T>& norm) {
  const std::int64_t blocks = (norm.rows + block_rows - 1) / block_rows;
  // The parameters' sums read dy and x, which dx may overwrite.
  Kokkos::parallel_for("trireme::norm_backward_blocks", Kokkos::RangePolicy<>(0, blocks * norm.width),
                       BlockAdder<T>{norm});
  Kokkos::parallel_for("trireme::norm_backward_rows", Kokkos::TeamPolicy<>(static_cast<int>(norm.rows), Kokkos::AUTO),
                       RowDifferentiator<T>{norm});
  Kokkos::parallel_for("trireme::norm_backward_tree",
                       Kokkos::RangePolicy<>(0, (norm.dbias != nullptr ? 2 : 1) * norm.width),
                       TreeAdder{blocks, norm.width, norm.scratch, norm.dgain, norm.dbias, norm.adds_parameters});
}

template void norm_forward(const NormForward<float>&);
template void norm_forward(const NormForward<Bf16>&);
template void norm_forward(const NormForward<Fp16>&);
template void norm_backward(const NormBackward<float>&);
template void norm_backward(const NormBackward<Bf16>&);
template void norm_backward(const NormBackward<Fp16>&);

}  // namespace trireme::kernels::portable
