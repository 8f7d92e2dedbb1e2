// Sixteen lanes as one 512-bit register. Included by simd.hpp only, which says what each function does.
#pragma once

#include <immintrin.h>

#include "kernels/host/simd/namespace.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

struct F32x16 {
  __m512 v;
};
struct U32x16 {
  __m512i v;
};
struct F64x16 {
  __m512d low, high;
};
struct Mask16 {
  __mmask16 v;
};

TRIREME_INLINE Mask16 first_lanes(std::int64_t n) {
  return {static_cast<__mmask16>((1U << n) - 1U)};
}
TRIREME_INLINE Mask16 operator&(Mask16 a, Mask16 b) {
  return {static_cast<__mmask16>(a.v & b.v)};
}
TRIREME_INLINE Mask16 operator|(Mask16 a, Mask16 b) {
  return {static_cast<__mmask16>(a.v | b.v)};
}
TRIREME_INLINE bool any(Mask16 a) {
  return a.v != 0;
}

TRIREME_INLINE F32x16 broadcast(float x) {
  return {_mm512_set1_ps(x)};
}
TRIREME_INLINE F32x16 load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
TRIREME_INLINE F32x16 load_first(const float* p, std::int64_t n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n).v, p)};
}
TRIREME_INLINE void store(float* p, F32x16 a) {
  _mm512_storeu_ps(p, a.v);
}
TRIREME_INLINE void store_first(float* p, F32x16 a, std::int64_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n).v, a.v);
}

TRIREME_INLINE F32x16 operator+(F32x16 a, F32x16 b) {
  return {_mm512_add_ps(a.v, b.v)};
}
TRIREME_INLINE F32x16 operator-(F32x16 a, F32x16 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
TRIREME_INLINE F32x16 operator*(F32x16 a, F32x16 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
TRIREME_INLINE F32x16 operator/(F32x16 a, F32x16 b) {
  return {_mm512_div_ps(a.v, b.v)};
}
TRIREME_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
TRIREME_INLINE F32x16 sqrt(F32x16 a) {
  return {_mm512_sqrt_ps(a.v)};
}
TRIREME_INLINE F32x16 min(F32x16 a, F32x16 b) {
  return {_mm512_min_ps(a.v, b.v)};
}
TRIREME_INLINE F32x16 max(F32x16 a, F32x16 b) {
  return {_mm512_max_ps(a.v, b.v)};
}
TRIREME_INLINE Mask16 less(F32x16 a, F32x16 b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
TRIREME_INLINE Mask16 equal(F32x16 a, F32x16 b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)};
}
TRIREME_INLINE F32x16 select(Mask16 m, F32x16 a, F32x16 b) {
  return {_mm512_mask_blend_ps(m.v, b.v, a.v)};
}

TRIREME_INLINE F32x16 load_quads(const float* p, std::int64_t stride) {
  const __m512 first = _mm512_castps128_ps512(_mm_loadu_ps(p));
  const __m512 second = _mm512_insertf32x4(first, _mm_loadu_ps(p + stride), 1);
  const __m512 third = _mm512_insertf32x4(second, _mm_loadu_ps(p + 2 * stride), 2);
  return {_mm512_insertf32x4(third, _mm_loadu_ps(p + 3 * stride), 3)};
}

TRIREME_INLINE U32x16 broadcast(std::uint32_t x) {
  return {_mm512_set1_epi32(static_cast<int>(x))};
}
TRIREME_INLINE U32x16 load(const std::uint32_t* p) {
  return {_mm512_loadu_si512(p)};
}
TRIREME_INLINE void store(std::uint32_t* p, U32x16 a) {
  _mm512_storeu_si512(p, a.v);
}
TRIREME_INLINE U32x16 bits_of(F32x16 a) {
  return {_mm512_castps_si512(a.v)};
}
TRIREME_INLINE F32x16 float_of(U32x16 a) {
  return {_mm512_castsi512_ps(a.v)};
}
TRIREME_INLINE U32x16 operator+(U32x16 a, U32x16 b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
TRIREME_INLINE U32x16 operator-(U32x16 a, U32x16 b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
TRIREME_INLINE U32x16 operator&(U32x16 a, U32x16 b) {
  return {_mm512_and_si512(a.v, b.v)};
}
TRIREME_INLINE U32x16 operator|(U32x16 a, U32x16 b) {
  return {_mm512_or_si512(a.v, b.v)};
}
TRIREME_INLINE U32x16 operator^(U32x16 a, U32x16 b) {
  return {_mm512_xor_si512(a.v, b.v)};
}
template <int bits>
TRIREME_INLINE U32x16 shift_left(U32x16 a) {
  return {_mm512_slli_epi32(a.v, bits)};
}
template <int bits>
TRIREME_INLINE U32x16 shift_right(U32x16 a) {
  return {_mm512_srli_epi32(a.v, bits)};
}
template <int bits>
TRIREME_INLINE U32x16 shift_right_signed(U32x16 a) {
  return {_mm512_srai_epi32(a.v, bits)};
}
TRIREME_INLINE Mask16 equal(U32x16 a, U32x16 b) {
  return {_mm512_cmpeq_epi32_mask(a.v, b.v)};
}
TRIREME_INLINE Mask16 less_signed(U32x16 a, U32x16 b) {
  return {_mm512_cmplt_epi32_mask(a.v, b.v)};
}
TRIREME_INLINE U32x16 select(Mask16 m, U32x16 a, U32x16 b) {
  return {_mm512_mask_blend_epi32(m.v, b.v, a.v)};
}
TRIREME_INLINE F32x16 float_of_signed(U32x16 a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
TRIREME_INLINE U32x16 multiply_low(U32x16 a, U32x16 b) {
  return {_mm512_mullo_epi32(a.v, b.v)};
}
TRIREME_INLINE U32x16 multiply_high(U32x16 a, U32x16 b) {
  const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(a.v, b.v), 32);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a.v, 32), _mm512_srli_epi64(b.v, 32));
  return {_mm512_mask_blend_epi32(0xAAAA, even, odd)};
}

TRIREME_INLINE void transpose_quads(U32x16& a, U32x16& b, U32x16& c, U32x16& d) {
  const __m512i ab_low = _mm512_unpacklo_epi32(a.v, b.v), ab_high = _mm512_unpackhi_epi32(a.v, b.v);
  const __m512i cd_low = _mm512_unpacklo_epi32(c.v, d.v), cd_high = _mm512_unpackhi_epi32(c.v, d.v);
  a.v = _mm512_unpacklo_epi64(ab_low, cd_low);
  b.v = _mm512_unpackhi_epi64(ab_low, cd_low);
  c.v = _mm512_unpacklo_epi64(ab_high, cd_high);
  d.v = _mm512_unpackhi_epi64(ab_high, cd_high);
}

TRIREME_INLINE U32x16 load_u16(const void* p) {
  return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
TRIREME_INLINE void store_u16(void* p, U32x16 a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a.v));
}
TRIREME_INLINE F32x16 float_of_half_bits(U32x16 a) {
  return {_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a.v))};
}
TRIREME_INLINE U32x16 half_bits_of(F32x16 a) {
  return {_mm512_cvtepu16_epi32(_mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))};
}

TRIREME_INLINE F64x16 broadcast_double(double x) {
  return {_mm512_set1_pd(x), _mm512_set1_pd(x)};
}
TRIREME_INLINE F64x16 to_double(F32x16 a) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(a.v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1))};
}
TRIREME_INLINE F64x16 operator+(F64x16 a, F64x16 b) {
  return {_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)};
}
TRIREME_INLINE F64x16 operator*(F64x16 a, F64x16 b) {
  return {_mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high)};
}
TRIREME_INLINE void store(double* p, F64x16 a) {
  _mm512_storeu_pd(p, a.low);
  _mm512_storeu_pd(p + 8, a.high);
}

TRIREME_INLINE float sum(F32x16 a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
TRIREME_INLINE float maximum(F32x16 a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

}  // namespace trireme::kernels::host::TRIREME_ISA
