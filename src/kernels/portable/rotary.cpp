#include "kernels/portable/rotary.hpp"

#include <Kokkos_Core.hpp>

#include "kernels/element.hpp"

namespace trireme::kernels::portable {

namespace {

/// Rotates one pair of elements.
template <class T>
struct PairRotator {
  std::int64_t heads;
  std::int64_t half;
  const float* table;
  const std::int32_t* positions;
  float sign;
  T* x;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t k = i % half;
    const std::int64_t row = i / half / heads;
    const float* angles = table + positions[row] * 2 * half;
    const float cosine = angles[k];
    const float sine = sign * angles[half + k];
    T& first = x[i / half * 2 * half + k];
    T& second = (&first)[half];
    const float a = to_float(first);
    const float b = to_float(second);
    first = from_float<T>(a * cosine - b * sine);
    second = from_float<T>(a * sine + b * cosine);
  }
};

}  // namespace

void rotary_apply(const tensor::Tensor& table, const tensor::Tensor& positions, Rotation rotation,
                  const tensor::Tensor& x) {
  with_element_type(x.dtype, [&](auto element) {
    using T = decltype(element);
    const PairRotator<T> rotator{.heads = x.shape[1],
                                 .half = x.shape[2] / 2,
                                 .table = table.as<float>(),
                                 .positions = positions.as<std::int32_t>(),
                                 .sign = rotation == Rotation::forward ? 1.0F : -1.0F,
                                 .x = x.as<T>()};
    Kokkos::parallel_for("trireme::rotary_apply", Kokkos::RangePolicy<>(0, x.size() / 2), rotator);
  });
}

}  // namespace trireme::kernels::portable
