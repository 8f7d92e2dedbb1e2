// Sixteen lanes of fp32 on every instruction set, with equal bits on all of them.
//
// Files named *.isa.cpp are compiled once for each instruction set (tools/cmake/TriremeIsaSources.cmake), each time
// with another namespace TRIREME_ISA: generic, avx2 or avx512, a few also amx. They include only <cstdint>, <cstddef>,
// this header and its kin, and instantiate no template of another library: the linker merges inline functions of equal
// names, and one built for AVX-512 would then run on a processor without it. A lint test reads the symbols of the
// object files.
//
// The functions, in simd/<isa>.hpp (F32x16 floats, U32x16 unsigned words, F64x16 doubles, Mask16 truth values):
//   broadcast(x)  load(p)  store(p, a)                p of any alignment
//   load_first(p, n)  store_first(p, a, n)            the first n lanes; the others are 0, or not written
//   + - * /  fma(a, b, c) = a * b + c rounded once   sqrt   min(a, b) = a < b ? a : b   max(a, b) = a > b ? a : b
//   (a denormal operand of min and max may come back as zero)
//   less  equal  less_signed  first_lanes(n)  &  |  any   select(m, a, b) = m ? a : b
//   bits_of  float_of        the same bits as the other type;   float_of_signed  the integer's value
//   shift_left<n>  shift_right<n>  shift_right_signed<n>  multiply_low  multiply_high  & | ^ + -   of words
//   load_quads(p, stride)    four floats each from p, p + stride, p + 2 stride, p + 3 stride
//   transpose_quads(a, b, c, d)   transposes the 4 x 4 words of lanes 0-3, 4-7, 8-11, 12-15 of four vectors
//   load_u16  store_u16      16-bit storage of words below 65536;   float_of_half_bits  half_bits_of   IEEE half
//   sum(a)  maximum(a)       over the lanes, in the tree 16 -> 8 -> 4 -> 2 -> 1 that adds lane i + n/2 to lane i
//   to_double  broadcast_double   sums in double
#pragma once

#include "trireme/base/dtype.hpp"

#include "kernels/host/simd/namespace.hpp"

#if defined(TRIREME_ISA_IS_AVX512)
#include "kernels/host/simd/avx512.hpp"
#elif defined(TRIREME_ISA_IS_AVX2)
#include "kernels/host/simd/avx2.hpp"
#else
#include "kernels/host/simd/generic.hpp"
#endif

namespace trireme::kernels::host::TRIREME_ISA {

inline constexpr std::int64_t num_lanes = 16;

TRIREME_INLINE F32x16 zero() {
  return broadcast(0.0F);
}
/// c - a * b, rounded once.
TRIREME_INLINE F32x16 fnma(F32x16 a, F32x16 b, F32x16 c) {
  return fma(float_of(bits_of(a) ^ broadcast(0x80000000U)), b, c);
}
TRIREME_INLINE F32x16 operator-(F32x16 a) {
  return float_of(bits_of(a) ^ broadcast(0x80000000U));
}
TRIREME_INLINE F32x16 abs(F32x16 a) {
  return float_of(bits_of(a) & broadcast(0x7FFFFFFFU));
}
/// The magnitude of a under the sign of b.
TRIREME_INLINE F32x16 copy_sign(F32x16 a, F32x16 b) {
  return float_of((bits_of(a) & broadcast(0x7FFFFFFFU)) | (bits_of(b) & broadcast(0x80000000U)));
}
/// 0, 1, ... 15.
TRIREME_INLINE U32x16 lane_numbers() {
  alignas(64) static constexpr std::uint32_t numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return load(numbers);
}
/// The transpose_quads() of floats.
TRIREME_INLINE void transpose_quads(F32x16& a, F32x16& b, F32x16& c, F32x16& d) {
  U32x16 rows[4] = {bits_of(a), bits_of(b), bits_of(c), bits_of(d)};
  transpose_quads(rows[0], rows[1], rows[2], rows[3]);
  a = float_of(rows[0]);
  b = float_of(rows[1]);
  c = float_of(rows[2]);
  d = float_of(rows[3]);
}
/// The sum over the lanes, in the tree of sum(F32x16).
TRIREME_INLINE double sum(F64x16 a) {
  double v[16];
  store(v, a);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) v[i] += v[i + half];
  }
  return v[0];
}

// 16-bit storage. Bf16 is the upper half of a float, rounded to nearest even; a NaN stays one.
TRIREME_INLINE U32x16 bf16_bits_of(F32x16 a) {
  const U32x16 bits = bits_of(a);
  const U32x16 odd = shift_right<16>(bits) & broadcast(1U);
  const U32x16 rounded = bits + (broadcast(0x7FFFU) + odd);
  const U32x16 quiet = bits | broadcast(0x00400000U);
  return shift_right<16>(select(equal(a, a), rounded, quiet));
}
TRIREME_INLINE F32x16 load(const Bf16* p) {
  return float_of(shift_left<16>(load_u16(p)));
}
TRIREME_INLINE void store(Bf16* p, F32x16 a) {
  store_u16(p, bf16_bits_of(a));
}
TRIREME_INLINE F32x16 load(const Fp16* p) {
  return float_of_half_bits(load_u16(p));
}
TRIREME_INLINE void store(Fp16* p, F32x16 a) {
  store_u16(p, half_bits_of(a));
}

template <class Half>
TRIREME_INLINE F32x16 load_first_half(const Half* p, std::int64_t n) {
  alignas(64) Half buffer[16] = {};
  for (std::int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return load(static_cast<const Half*>(buffer));
}
template <class Half>
TRIREME_INLINE void store_first_half(Half* p, F32x16 a, std::int64_t n) {
  alignas(64) Half buffer[16];
  store(static_cast<Half*>(buffer), a);
  for (std::int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}
TRIREME_INLINE F32x16 load_first(const Bf16* p, std::int64_t n) {
  return load_first_half(p, n);
}
TRIREME_INLINE F32x16 load_first(const Fp16* p, std::int64_t n) {
  return load_first_half(p, n);
}
TRIREME_INLINE void store_first(Bf16* p, F32x16 a, std::int64_t n) {
  store_first_half(p, a, n);
}
TRIREME_INLINE void store_first(Fp16* p, F32x16 a, std::int64_t n) {
  store_first_half(p, a, n);
}

}  // namespace trireme::kernels::host::TRIREME_ISA
