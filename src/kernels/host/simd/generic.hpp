// Sixteen lanes as plain arrays, for any processor. Included by simd.hpp only, which says what each function does.
#pragma once

#include "kernels/host/simd/namespace.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

inline constexpr int lanes_of_generic = 16;

struct F32x16 {
  float v[16];
};
struct U32x16 {
  std::uint32_t v[16];
};
struct F64x16 {
  double v[16];
};
struct Mask16 {
  std::uint32_t v[16];  // 0 or all ones
};

// Applies f(lane) to each lane of a new Vector.
template <class Vector, class Function>
TRIREME_INLINE Vector each(Function f) {
  Vector result;
  for (int i = 0; i < lanes_of_generic; ++i) result.v[i] = f(i);
  return result;
}
template <class Function>
TRIREME_INLINE Mask16 each_mask(Function f) {
  return each<Mask16>([&](int i) { return f(i) ? ~0U : 0U; });
}

TRIREME_INLINE Mask16 first_lanes(std::int64_t n) {
  return each_mask([&](int i) { return i < n; });
}
TRIREME_INLINE Mask16 operator&(Mask16 a, Mask16 b) {
  return each<Mask16>([&](int i) { return a.v[i] & b.v[i]; });
}
TRIREME_INLINE Mask16 operator|(Mask16 a, Mask16 b) {
  return each<Mask16>([&](int i) { return a.v[i] | b.v[i]; });
}
TRIREME_INLINE bool any(Mask16 a) {
  std::uint32_t bits = 0;
  for (const std::uint32_t lane : a.v) bits |= lane;
  return bits != 0;
}

TRIREME_INLINE F32x16 broadcast(float x) {
  return each<F32x16>([&](int) { return x; });
}
TRIREME_INLINE F32x16 load(const float* p) {
  return each<F32x16>([&](int i) { return p[i]; });
}
TRIREME_INLINE F32x16 load_first(const float* p, std::int64_t n) {
  return each<F32x16>([&](int i) { return i < n ? p[i] : 0.0F; });
}
TRIREME_INLINE void store(float* p, F32x16 a) {
  for (int i = 0; i < lanes_of_generic; ++i) p[i] = a.v[i];
}
TRIREME_INLINE void store_first(float* p, F32x16 a, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) p[i] = a.v[i];
}
TRIREME_INLINE void store_stream(float* p, F32x16 a) {
  store(p, a);
}

TRIREME_INLINE F32x16 operator+(F32x16 a, F32x16 b) {
  return each<F32x16>([&](int i) { return a.v[i] + b.v[i]; });
}
TRIREME_INLINE F32x16 operator-(F32x16 a, F32x16 b) {
  return each<F32x16>([&](int i) { return a.v[i] - b.v[i]; });
}
TRIREME_INLINE F32x16 operator*(F32x16 a, F32x16 b) {
  return each<F32x16>([&](int i) { return a.v[i] * b.v[i]; });
}
TRIREME_INLINE F32x16 operator/(F32x16 a, F32x16 b) {
  return each<F32x16>([&](int i) { return a.v[i] / b.v[i]; });
}
TRIREME_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return each<F32x16>([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}
TRIREME_INLINE F32x16 sqrt(F32x16 a) {
  return each<F32x16>([&](int i) { return __builtin_sqrtf(a.v[i]); });
}
TRIREME_INLINE F32x16 min(F32x16 a, F32x16 b) {
  return each<F32x16>([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
TRIREME_INLINE F32x16 max(F32x16 a, F32x16 b) {
  return each<F32x16>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
TRIREME_INLINE Mask16 less(F32x16 a, F32x16 b) {
  return each_mask([&](int i) { return a.v[i] < b.v[i]; });
}
TRIREME_INLINE Mask16 equal(F32x16 a, F32x16 b) {
  return each_mask([&](int i) { return a.v[i] == b.v[i]; });
}
TRIREME_INLINE F32x16 select(Mask16 m, F32x16 a, F32x16 b) {
  return each<F32x16>([&](int i) { return m.v[i] != 0 ? a.v[i] : b.v[i]; });
}

TRIREME_INLINE F32x16 load_quads(const float* p, std::int64_t stride) {
  return each<F32x16>([&](int i) { return p[i / 4 * stride + i % 4]; });
}

TRIREME_INLINE U32x16 broadcast(std::uint32_t x) {
  return each<U32x16>([&](int) { return x; });
}
TRIREME_INLINE U32x16 load(const std::uint32_t* p) {
  return each<U32x16>([&](int i) { return p[i]; });
}
TRIREME_INLINE void store(std::uint32_t* p, U32x16 a) {
  for (int i = 0; i < lanes_of_generic; ++i) p[i] = a.v[i];
}
TRIREME_INLINE U32x16 bits_of(F32x16 a) {
  return __builtin_bit_cast(U32x16, a);
}
TRIREME_INLINE F32x16 float_of(U32x16 a) {
  return __builtin_bit_cast(F32x16, a);
}
TRIREME_INLINE U32x16 operator+(U32x16 a, U32x16 b) {
  return each<U32x16>([&](int i) { return a.v[i] + b.v[i]; });
}
TRIREME_INLINE U32x16 operator-(U32x16 a, U32x16 b) {
  return each<U32x16>([&](int i) { return a.v[i] - b.v[i]; });
}
TRIREME_INLINE U32x16 operator&(U32x16 a, U32x16 b) {
  return each<U32x16>([&](int i) { return a.v[i] & b.v[i]; });
}
TRIREME_INLINE U32x16 operator|(U32x16 a, U32x16 b) {
  return each<U32x16>([&](int i) { return a.v[i] | b.v[i]; });
}
TRIREME_INLINE U32x16 operator^(U32x16 a, U32x16 b) {
  return each<U32x16>([&](int i) { return a.v[i] ^ b.v[i]; });
}
template <int bits>
TRIREME_INLINE U32x16 shift_left(U32x16 a) {
  return each<U32x16>([&](int i) { return a.v[i] << bits; });
}
template <int bits>
TRIREME_INLINE U32x16 shift_right(U32x16 a) {
  return each<U32x16>([&](int i) { return a.v[i] >> bits; });
}
template <int bits>
TRIREME_INLINE U32x16 shift_right_signed(U32x16 a) {
  return each<U32x16>([&](int i) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(a.v[i]) >> bits); });
}
TRIREME_INLINE Mask16 equal(U32x16 a, U32x16 b) {
  return each_mask([&](int i) { return a.v[i] == b.v[i]; });
}
TRIREME_INLINE Mask16 less_signed(U32x16 a, U32x16 b) {
  return each_mask([&](int i) { return static_cast<std::int32_t>(a.v[i]) < static_cast<std::int32_t>(b.v[i]); });
}
TRIREME_INLINE U32x16 select(Mask16 m, U32x16 a, U32x16 b) {
  return each<U32x16>([&](int i) { return m.v[i] != 0 ? a.v[i] : b.v[i]; });
}
TRIREME_INLINE F32x16 float_of_signed(U32x16 a) {
  return each<F32x16>([&](int i) { return static_cast<float>(static_cast<std::int32_t>(a.v[i])); });
}
TRIREME_INLINE U32x16 multiply_low(U32x16 a, U32x16 b) {
  return each<U32x16>([&](int i) { return a.v[i] * b.v[i]; });
}
TRIREME_INLINE U32x16 multiply_high(U32x16 a, U32x16 b) {
  return each<U32x16>([&](int i) { return static_cast<std::uint32_t>((std::uint64_t{a.v[i]} * b.v[i]) >> 32); });
}

TRIREME_INLINE void transpose_quads(U32x16& a, U32x16& b, U32x16& c, U32x16& d) {
  const U32x16 rows[4] = {a, b, c, d};
  for (int i = 0; i < lanes_of_generic; ++i) {
    const int quad = i / 4 * 4;
    a.v[i] = rows[i % 4].v[quad];
    b.v[i] = rows[i % 4].v[quad + 1];
    c.v[i] = rows[i % 4].v[quad + 2];
    d.v[i] = rows[i % 4].v[quad + 3];
  }
}

TRIREME_INLINE U32x16 load_u16(const void* p) {
  std::uint16_t halves[16];
  __builtin_memcpy(halves, p, sizeof halves);
  return each<U32x16>([&](int i) { return std::uint32_t{halves[i]}; });
}
TRIREME_INLINE void store_u16(void* p, U32x16 a) {
  std::uint16_t halves[16];
  for (int i = 0; i < lanes_of_generic; ++i) halves[i] = static_cast<std::uint16_t>(a.v[i]);
  __builtin_memcpy(p, halves, sizeof halves);
}
TRIREME_INLINE float float_of_half_bits(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  std::uint32_t bits = (magnitude << 13) + (112U << 23);
  if (magnitude > 0x7C00U) {
    bits = 0x7FC00000U | (magnitude << 13);
  } else if (magnitude == 0x7C00U) {
    bits = 0x7F800000U;
  } else if (magnitude < 0x0400U) {
    bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(magnitude) * 0x1p-24F);
  }
  return __builtin_bit_cast(float, bits | sign);
}
TRIREME_INLINE std::uint32_t half_bits_of(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return sign | 0x7E00U | ((magnitude >> 13) & 0x03FFU);
  if (magnitude >= 0x477FF000U) return sign | 0x7C00U;
  if (magnitude < 0x38800000U) {
    // Half's denormals are multiples of 2^-24, the last place of 0.5: the addition rounds to nearest even.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5F;
    return sign | (__builtin_bit_cast(std::uint32_t, shifted) - 0x3F000000U);
  }
  return sign | ((magnitude - (112U << 23) + 0x0FFFU + ((magnitude >> 13) & 1U)) >> 13);
}
TRIREME_INLINE F32x16 float_of_half_bits(U32x16 a) {
  return each<F32x16>([&](int i) { return float_of_half_bits(a.v[i]); });
}
TRIREME_INLINE U32x16 half_bits_of(F32x16 a) {
  return each<U32x16>([&](int i) { return half_bits_of(a.v[i]); });
}

TRIREME_INLINE F64x16 broadcast_double(double x) {
  return each<F64x16>([&](int) { return x; });
}
TRIREME_INLINE F64x16 to_double(F32x16 a) {
  return each<F64x16>([&](int i) { return static_cast<double>(a.v[i]); });
}
TRIREME_INLINE F64x16 operator+(F64x16 a, F64x16 b) {
  return each<F64x16>([&](int i) { return a.v[i] + b.v[i]; });
}
TRIREME_INLINE F64x16 operator*(F64x16 a, F64x16 b) {
  return each<F64x16>([&](int i) { return a.v[i] * b.v[i]; });
}
TRIREME_INLINE void store(double* p, F64x16 a) {
  for (int i = 0; i < lanes_of_generic; ++i) p[i] = a.v[i];
}

TRIREME_INLINE float sum(F32x16 a) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) a.v[i] = a.v[i] + a.v[i + half];
  }
  return a.v[0];
}
TRIREME_INLINE float maximum(F32x16 a) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
  }
  return a.v[0];
}

}  // namespace trireme::kernels::host::TRIREME_ISA
