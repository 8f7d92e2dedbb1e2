#include "kernels/host/norm.isa.hpp"

#include "trireme/base/dtype.hpp"

#include "kernels/host/columns.hpp"
#include "kernels/row_blocks.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

template <class T>
void forward_row(const NormForward<T>& norm, std::int64_t row) {
  const T* x = norm.x + row * norm.width;
  T* y = norm.y + row * norm.width;
  const auto width = static_cast<float>(norm.width);
  float mean = 0;
  if (norm.mean != nullptr) {
    mean = sum_columns(norm.width, [&](auto lanes, std::int64_t k) { return lanes.load(x + k); }) / width;
    norm.mean[row] = mean;
  }
  const F32x16 center = broadcast(mean);
  const float squares = sum_columns(norm.width, [&](auto lanes, std::int64_t k) {
    const F32x16 deviation = lanes.load(x + k) - center;
    return deviation * deviation;
  });
  const float rstd = 1.0F / __builtin_sqrtf(squares / width + norm.epsilon);
  norm.rstd[row] = rstd;
  for_columns(norm.width, [&](auto lanes, std::int64_t k) {
    const F32x16 normalized = (lanes.load(x + k) - center) * broadcast(rstd);
    const F32x16 bias = norm.bias != nullptr ? lanes.load(norm.bias + k) : zero();
    lanes.store(y + k, fma(normalized, lanes.load(norm.gain + k), bias));
  });
}

/// The two sums over a row that its dx needs.
struct RowSums {
  float of_gradient;          // g = dy * gain
  float of_gradient_times_x;  // g * normalized x
};

/// One row of the backward pass.
template <class T>
struct BackwardRow {
  const T* dy;
  const T* x;
  const float* gain;
  F32x16 center;
  F32x16 rstd;

  template <class Lanes>
  TRIREME_INLINE F32x16 normalized(Lanes lanes, std::int64_t k) const {
    return (lanes.load(x + k) - center) * rstd;
  }
  template <class Lanes>
  TRIREME_INLINE F32x16 gradient(Lanes lanes, std::int64_t k) const {
    return lanes.load(dy + k) * lanes.load(gain + k);
  }
};

template <class T>
void backward_row(const NormBackward<T>& norm, std::int64_t row, float* dgain, float* dbias) {
  const bool centered = norm.mean != nullptr;
  const BackwardRow<T> from{norm.dy + row * norm.width, norm.x + row * norm.width, norm.gain,
                            broadcast(centered ? norm.mean[row] : 0.0F), broadcast(norm.rstd[row])};
  T* dx = norm.dx + row * norm.width;
  const auto width = static_cast<float>(norm.width);
  const float slope =
      sum_columns(norm.width,
                  [&](auto lanes, std::int64_t k) { return from.gradient(lanes, k) * from.normalized(lanes, k); }) /
      width;
  float offset = 0;
  if (centered) {
    offset = sum_columns(norm.width, [&](auto lanes, std::int64_t k) { return from.gradient(lanes, k); }) / width;
  }
  for_columns(norm.width, [&](auto lanes, std::int64_t k) {
    const F32x16 dy = lanes.load(from.dy + k);
    const F32x16 normalized = from.normalized(lanes, k);
    const F32x16 rest = fnma(normalized, broadcast(slope), dy * lanes.load(norm.gain + k) - broadcast(offset));
    const F32x16 result = rest * from.rstd;
    lanes.store(dx + k, norm.adds_dx ? lanes.load(dx + k) + result : result);
    lanes.store(dgain + k, fma(dy, normalized, lanes.load(dgain + k)));
    if (dbias != nullptr) lanes.store(dbias + k, lanes.load(dbias + k) + dy);
  });
}

void set_zero(std::int64_t width, float* values) {
  for_columns(width, [&](auto lanes, std::int64_t k) { lanes.store(values + k, zero()); });
}

}  // namespace

template <class T>
void norm_forward(const NormForward<T>& norm, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) forward_row(norm, row);
}

template <class T>
void norm_backward(const NormBackward<T>& norm, std::int64_t block) {
  float* dgain = norm.scratch + 2 * block * norm.width;
  float* dbias = norm.dbias != nullptr ? dgain + norm.width : nullptr;
  set_zero(norm.width, dgain);
  if (dbias != nullptr) set_zero(norm.width, dbias);
  const std::int64_t begin = block * block_rows;
  const std::int64_t end = begin + block_rows < norm.rows ? begin + block_rows : norm.rows;
  for (std::int64_t row = begin; row < end; ++row) backward_row(norm, row, dgain, dbias);
}

template void norm_forward(const NormForward<float>&, std::int64_t, std::int64_t);
template void norm_forward(const NormForward<Bf16>&, std::int64_t, std::int64_t);
template void norm_forward(const NormForward<Fp16>&, std::int64_t, std::int64_t);
template void norm_backward(const NormBackward<float>&, std::int64_t);
template void norm_backward(const NormBackward<Bf16>&, std::int64_t);
template void norm_backward(const NormBackward<Fp16>&, std::int64_t);

}  // namespace trireme::kernels::host::TRIREME_ISA
