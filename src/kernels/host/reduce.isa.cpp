#include "kernels/host/reduce.isa.hpp"

#include "kernels/host/columns.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

double sum_of_squares_run(std::int64_t count, const float* values, const float* second_values) {
  F64x16 even = broadcast_double(0);
  F64x16 odd = broadcast_double(0);
  for_columns(count, [&](auto lanes, std::int64_t i) {
    F32x16 x = lanes.load(values + i);
    if (second_values != nullptr) x = x + lanes.load(second_values + i);
    const F64x16 wide = to_double(x);
    F64x16& sum = i / num_lanes % 2 == 0 ? even : odd;
    sum = sum + wide * wide;
  });
  return sum(even + odd);
}

void add_run(std::int64_t count, const float* source, float* target) {
  for_columns(count, [&](auto lanes, std::int64_t i) {
    lanes.store(target + i, lanes.load(target + i) + lanes.load(source + i));
  });
}

template <class T>
void sum_rows(std::int64_t rows, std::int64_t columns, const T* x, float* sums) {
  for_columns(columns, [&](auto lanes, std::int64_t d) {
    F32x16 sum = lanes.load(x + d);
    for (std::int64_t row = 1; row < rows; ++row) sum = sum + lanes.load(x + row * columns + d);
    lanes.store(sums + d, sum);
  });
}

bool finite_run(std::int64_t count, const float* values) {
  // The largest magnitude as an integer: NaN and infinities lie above all finite numbers.
  const U32x16 magnitude = broadcast(0x7FFFFFFFU);
  U32x16 largest = broadcast(0U);
  for_columns(count, [&](auto lanes, std::int64_t i) {
    const U32x16 bits = bits_of(lanes.load(values + i)) & magnitude;
    largest = select(less_signed(largest, bits), bits, largest);
  });
  return !any(less_signed(broadcast(0x7F7FFFFFU), largest));
}

template void sum_rows(std::int64_t, std::int64_t, const float*, float*);
template void sum_rows(std::int64_t, std::int64_t, const Bf16*, float*);
template void sum_rows(std::int64_t, std::int64_t, const Fp16*, float*);

}  // namespace trireme::kernels::host::TRIREME_ISA
