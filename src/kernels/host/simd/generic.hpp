// Sixteen lanes as four vectors of four, in the vector types of GCC and Clang, for any processor. Included by simd.hpp
// only, which says what each function does.
#pragma once

#include "kernels/host/simd/namespace.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

using FloatQuad [[gnu::vector_size(16)]] = float;
using WordQuad [[gnu::vector_size(16)]] = std::uint32_t;
using SignedQuad [[gnu::vector_size(16)]] = std::int32_t;
using DoublePair [[gnu::vector_size(16)]] = double;

struct F32x16 {
  FloatQuad q[4];
};
struct U32x16 {
  WordQuad q[4];
};
struct F64x16 {
  DoublePair q[8];
};
struct Mask16 {
  WordQuad q[4];  // lanes of 0 or all ones
};

// A new Vector of f(i) for each of its parts.
template <class Vector, class Function>
TRIREME_INLINE Vector parts(Function f) {
  Vector result;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < sizeof result.q / sizeof result.q[0]; ++i) result.q[i] = f(i);
  return result;
}
// A new Vector whose four lanes of part i are f(4 i), f(4 i + 1), ...
template <class Vector, class Function>
TRIREME_INLINE Vector each_lane(Function f) {
  using Quad = decltype(Vector::q[0] + Vector::q[0]);
  return parts<Vector>([&](std::size_t i) { return Quad{f(4 * i), f(4 * i + 1), f(4 * i + 2), f(4 * i + 3)}; });
}
template <class Vector>
TRIREME_INLINE auto lane(const Vector& a, std::size_t i) {
  return a.q[i / 4][i % 4];
}
template <class Vector>
TRIREME_INLINE Vector load_parts(const void* p) {
  Vector result;
  __builtin_memcpy(&result, p, sizeof result);
  return result;
}

TRIREME_INLINE Mask16 first_lanes(std::int64_t n) {
  return each_lane<Mask16>([&](std::size_t i) { return static_cast<std::int64_t>(i) < n ? ~0U : 0U; });
}
TRIREME_INLINE Mask16 operator&(Mask16 a, Mask16 b) {
  return parts<Mask16>([&](std::size_t i) { return a.q[i] & b.q[i]; });
}
TRIREME_INLINE Mask16 operator|(Mask16 a, Mask16 b) {
  return parts<Mask16>([&](std::size_t i) { return a.q[i] | b.q[i]; });
}
TRIREME_INLINE bool any(Mask16 a) {
  const WordQuad bits = (a.q[0] | a.q[1]) | (a.q[2] | a.q[3]);
  return (bits[0] | bits[1] | bits[2] | bits[3]) != 0;
}

TRIREME_INLINE F32x16 broadcast(float x) {
  return parts<F32x16>([&](std::size_t) { return FloatQuad{x, x, x, x}; });
}
TRIREME_INLINE F32x16 load(const float* p) {
  return load_parts<F32x16>(p);
}
TRIREME_INLINE F32x16 load_first(const float* p, std::int64_t n) {
  float values[16] = {};
  for (std::int64_t i = 0; i < n; ++i) values[i] = p[i];
  return load(values);
}
TRIREME_INLINE void store(float* p, F32x16 a) {
  __builtin_memcpy(p, &a, sizeof a);
}
TRIREME_INLINE void store_first(float* p, F32x16 a, std::int64_t n) {
  float values[16];
  store(values, a);
  for (std::int64_t i = 0; i < n; ++i) p[i] = values[i];
}

TRIREME_INLINE F32x16 operator+(F32x16 a, F32x16 b) {
  return parts<F32x16>([&](std::size_t i) { return a.q[i] + b.q[i]; });
}
TRIREME_INLINE F32x16 operator-(F32x16 a, F32x16 b) {
  return parts<F32x16>([&](std::size_t i) { return a.q[i] - b.q[i]; });
}
TRIREME_INLINE F32x16 operator*(F32x16 a, F32x16 b) {
  return parts<F32x16>([&](std::size_t i) { return a.q[i] * b.q[i]; });
}
TRIREME_INLINE F32x16 operator/(F32x16 a, F32x16 b) {
  return parts<F32x16>([&](std::size_t i) { return a.q[i] / b.q[i]; });
}
TRIREME_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return each_lane<F32x16>([&](std::size_t i) { return __builtin_fmaf(lane(a, i), lane(b, i), lane(c, i)); });
}
TRIREME_INLINE F32x16 sqrt(F32x16 a) {
  return each_lane<F32x16>([&](std::size_t i) { return __builtin_sqrtf(lane(a, i)); });
}
TRIREME_INLINE Mask16 less(F32x16 a, F32x16 b) {
  return parts<Mask16>([&](std::size_t i) { return (WordQuad)(a.q[i] < b.q[i]); });
}
TRIREME_INLINE Mask16 equal(F32x16 a, F32x16 b) {
  return parts<Mask16>([&](std::size_t i) { return (WordQuad)(a.q[i] == b.q[i]); });
}
TRIREME_INLINE F32x16 select(Mask16 m, F32x16 a, F32x16 b) {
  return parts<F32x16>(
      [&](std::size_t i) { return (FloatQuad)((m.q[i] & (WordQuad)a.q[i]) | (~m.q[i] & (WordQuad)b.q[i])); });
}
TRIREME_INLINE F32x16 min(F32x16 a, F32x16 b) {
  return select(less(a, b), a, b);
}
TRIREME_INLINE F32x16 max(F32x16 a, F32x16 b) {
  return select(less(b, a), a, b);
}

TRIREME_INLINE F32x16 load_quads(const float* p, std::int64_t stride) {
  return parts<F32x16>([&](std::size_t i) {
    FloatQuad quad;
    __builtin_memcpy(&quad, p + static_cast<std::int64_t>(i) * stride, sizeof quad);
    return quad;
  });
}

TRIREME_INLINE U32x16 broadcast(std::uint32_t x) {
  return parts<U32x16>([&](std::size_t) { return WordQuad{x, x, x, x}; });
}
TRIREME_INLINE U32x16 load(const std::uint32_t* p) {
  return load_parts<U32x16>(p);
}
TRIREME_INLINE void store(std::uint32_t* p, U32x16 a) {
  __builtin_memcpy(p, &a, sizeof a);
}
TRIREME_INLINE U32x16 bits_of(F32x16 a) {
  return parts<U32x16>([&](std::size_t i) { return (WordQuad)a.q[i]; });
}
TRIREME_INLINE F32x16 float_of(U32x16 a) {
  return parts<F32x16>([&](std::size_t i) { return (FloatQuad)a.q[i]; });
}
TRIREME_INLINE U32x16 operator+(U32x16 a, U32x16 b) {
  return parts<U32x16>([&](std::size_t i) { return a.q[i] + b.q[i]; });
}
TRIREME_INLINE U32x16 operator-(U32x16 a, U32x16 b) {
  return parts<U32x16>([&](std::size_t i) { return a.q[i] - b.q[i]; });
}
TRIREME_INLINE U32x16 operator&(U32x16 a, U32x16 b) {
  return parts<U32x16>([&](std::size_t i) { return a.q[i] & b.q[i]; });
}
TRIREME_INLINE U32x16 operator|(U32x16 a, U32x16 b) {
  return parts<U32x16>([&](std::size_t i) { return a.q[i] | b.q[i]; });
}
TRIREME_INLINE U32x16 operator^(U32x16 a, U32x16 b) {
  return parts<U32x16>([&](std::size_t i) { return a.q[i] ^ b.q[i]; });
}
template <int bits>
TRIREME_INLINE U32x16 shift_left(U32x16 a) {
  return parts<U32x16>([&](std::size_t i) { return a.q[i] << bits; });
}
template <int bits>
TRIREME_INLINE U32x16 shift_right(U32x16 a) {
  return parts<U32x16>([&](std::size_t i) { return a.q[i] >> bits; });
}
template <int bits>
TRIREME_INLINE U32x16 shift_right_signed(U32x16 a) {
  return parts<U32x16>([&](std::size_t i) { return (WordQuad)((SignedQuad)a.q[i] >> bits); });
}
TRIREME_INLINE Mask16 equal(U32x16 a, U32x16 b) {
  return parts<Mask16>([&](std::size_t i) { return (WordQuad)(a.q[i] == b.q[i]); });
}
TRIREME_INLINE Mask16 less_signed(U32x16 a, U32x16 b) {
  return parts<Mask16>([&](std::size_t i) { return (WordQuad)((SignedQuad)a.q[i] < (SignedQuad)b.q[i]); });
}
TRIREME_INLINE U32x16 select(Mask16 m, U32x16 a, U32x16 b) {
  return parts<U32x16>([&](std::size_t i) { return (m.q[i] & a.q[i]) | (~m.q[i] & b.q[i]); });
}
TRIREME_INLINE F32x16 float_of_signed(U32x16 a) {
  return parts<F32x16>([&](std::size_t i) { return __builtin_convertvector((SignedQuad)a.q[i], FloatQuad); });
}
TRIREME_INLINE U32x16 multiply_low(U32x16 a, U32x16 b) {
  return parts<U32x16>([&](std::size_t i) { return a.q[i] * b.q[i]; });
}
TRIREME_INLINE U32x16 multiply_high(U32x16 a, U32x16 b) {
  return each_lane<U32x16>(
      [&](std::size_t i) { return static_cast<std::uint32_t>((std::uint64_t{lane(a, i)} * lane(b, i)) >> 32); });
}

TRIREME_INLINE void transpose_quads(U32x16& a, U32x16& b, U32x16& c, U32x16& d) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const WordQuad w = a.q[i], x = b.q[i], y = c.q[i], z = d.q[i];
    a.q[i] = WordQuad{w[0], x[0], y[0], z[0]};
    b.q[i] = WordQuad{w[1], x[1], y[1], z[1]};
    c.q[i] = WordQuad{w[2], x[2], y[2], z[2]};
    d.q[i] = WordQuad{w[3], x[3], y[3], z[3]};
  }
}

TRIREME_INLINE U32x16 load_u16(const void* p) {
  std::uint16_t halves[16];
  __builtin_memcpy(halves, p, sizeof halves);
  return each_lane<U32x16>([&](std::size_t i) { return std::uint32_t{halves[i]}; });
}
TRIREME_INLINE void store_u16(void* p, U32x16 a) {
  std::uint16_t halves[16];
  for (std::size_t i = 0; i < 16; ++i) halves[i] = static_cast<std::uint16_t>(lane(a, i));
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
  return each_lane<F32x16>([&](std::size_t i) { return float_of_half_bits(std::uint32_t{lane(a, i)}); });
}
TRIREME_INLINE U32x16 half_bits_of(F32x16 a) {
  return each_lane<U32x16>([&](std::size_t i) { return half_bits_of(float{lane(a, i)}); });
}

TRIREME_INLINE F64x16 broadcast_double(double x) {
  return parts<F64x16>([&](std::size_t) { return DoublePair{x, x}; });
}
TRIREME_INLINE F64x16 to_double(F32x16 a) {
  return parts<F64x16>([&](std::size_t i) { return DoublePair{lane(a, 2 * i), lane(a, 2 * i + 1)}; });
}
TRIREME_INLINE F64x16 operator+(F64x16 a, F64x16 b) {
  return parts<F64x16>([&](std::size_t i) { return a.q[i] + b.q[i]; });
}
TRIREME_INLINE F64x16 operator*(F64x16 a, F64x16 b) {
  return parts<F64x16>([&](std::size_t i) { return a.q[i] * b.q[i]; });
}
TRIREME_INLINE void store(double* p, F64x16 a) {
  __builtin_memcpy(p, &a, sizeof a);
}

TRIREME_INLINE float sum(F32x16 a) {
  const FloatQuad four = (a.q[0] + a.q[2]) + (a.q[1] + a.q[3]);
  return (four[0] + four[2]) + (four[1] + four[3]);
}
TRIREME_INLINE float larger_of(float a, float b) {
  return a > b ? a : b;
}
TRIREME_INLINE float maximum(F32x16 a) {
  float v[16];
  store(v, a);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) v[i] = larger_of(v[i], v[i + half]);
  }
  return v[0];
}

}  // namespace trireme::kernels::host::TRIREME_ISA
