#include "kernels/host/rotary.isa.hpp"

#include "trireme/base/dtype.hpp"

#include "kernels/host/columns.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

template <class T>
void rotate_rows(std::int64_t begin, std::int64_t end, std::int64_t heads, std::int64_t size, const float* table,
                 const std::int32_t* positions, bool backward, T* x) {
  const std::int64_t half = size / 2;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* cosines = table + positions[row] * size;
    const float* sines = cosines + half;
    for (std::int64_t head = 0; head < heads; ++head) {
      T* first = x + (row * heads + head) * size;
      T* second = first + half;
      for_columns(half, [&](auto lanes, std::int64_t k) {
        const F32x16 a = lanes.load(first + k);
        const F32x16 b = lanes.load(second + k);
        const F32x16 cosine = lanes.load(cosines + k);
        const F32x16 sine = backward ? -lanes.load(sines + k) : lanes.load(sines + k);
        lanes.store(first + k, fnma(b, sine, a * cosine));
        lanes.store(second + k, fma(a, sine, b * cosine));
      });
    }
  }
}

template void rotate_rows(std::int64_t, std::int64_t, std::int64_t, std::int64_t, const float*, const std::int32_t*,
                          bool, float*);
template void rotate_rows(std::int64_t, std::int64_t, std::int64_t, std::int64_t, const float*, const std::int32_t*,
                          bool, Bf16*);
template void rotate_rows(std::int64_t, std::int64_t, std::int64_t, std::int64_t, const float*, const std::int32_t*,
                          bool, Fp16*);

}  // namespace trireme::kernels::host::TRIREME_ISA
