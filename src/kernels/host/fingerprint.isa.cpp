#include "kernels/host/fingerprint.isa.hpp"

#include "kernels/fingerprint_mix.hpp"
#include "kernels/host/simd.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

TRIREME_INLINE U32x16 load_bits(const std::uint32_t* p) {
  return load(p);
}
TRIREME_INLINE U32x16 load_bits(const std::uint16_t* p) {
  return load_u16(p);
}

/// Sums of sixteen lanes: of the lower words by halves, so that no lane overflows for 65536 elements of it.
struct Sums {
  U32x16 low = broadcast(0U), middle = broadcast(0U), high = broadcast(0U);

  TRIREME_INLINE void add(U32x16 bits, U32x16 key) {
    U32x16 x = bits ^ key;
    x = multiply_low(x ^ shift_right<16>(x), broadcast(fingerprint_first));
    x = x ^ shift_right<13>(x);
    U32x16 lower = multiply_low(x, broadcast(fingerprint_second));
    lower = lower ^ shift_right<16>(lower);
    U32x16 upper = multiply_low(x ^ key, broadcast(fingerprint_third));
    upper = upper ^ shift_right<15>(upper);
    low = low + (lower & broadcast(0xFFFFU));
    middle = middle + shift_right<16>(lower);
    high = high + upper;
  }

  TRIREME_INLINE std::uint64_t total() const {
    alignas(64) std::uint32_t lows[16], middles[16], highs[16];
    store(lows, low);
    store(middles, middle);
    store(highs, high);
    std::uint64_t sum = 0;
    for (int lane = 0; lane < 16; ++lane) {
      sum += lows[lane] + (std::uint64_t{middles[lane]} << 16U) + (std::uint64_t{highs[lane]} << 32U);
    }
    return sum;
  }
};

}  // namespace

template <class T>
std::uint64_t fingerprint_run(std::int64_t count, const T* values, std::uint64_t first_index) {
  constexpr std::int64_t most_at_once = 16 * 65536;
  std::uint64_t sum = 0;
  std::int64_t i = 0;
  const auto key_at = [&](std::int64_t offset) {
    return fingerprint_key(first_index + static_cast<std::uint64_t>(offset));
  };
  while (i + 16 <= count) {
    const std::int64_t end = count - i < most_at_once ? count : i + most_at_once;
    Sums sums;
    U32x16 key = broadcast(key_at(i)) + multiply_low(lane_numbers(), broadcast(fingerprint_index_step));
    for (; i + 16 <= end; i += 16) {
      __builtin_prefetch(values + i + 1024);  // from memory, a third faster
      sums.add(load_bits(values + i), key);
      key = key + broadcast(16 * fingerprint_index_step);
    }
    sum += sums.total();
  }
  for (; i < count; ++i) sum += fingerprint_mix(values[i], key_at(i));
  return sum;
}

template std::uint64_t fingerprint_run(std::int64_t, const std::uint32_t*, std::uint64_t);
template std::uint64_t fingerprint_run(std::int64_t, const std::uint16_t*, std::uint64_t);

}  // namespace trireme::kernels::host::TRIREME_ISA
