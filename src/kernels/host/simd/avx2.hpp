// Sixteen lanes as two 256-bit registers. Included by simd.hpp only, which says what each function does.
#pragma once

#include <immintrin.h>

#include "kernels/host/simd/namespace.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

struct F32x16 {
  __m256 low, high;
};
struct U32x16 {
  __m256i low, high;
};
struct F64x16 {
  __m256d v[4];
};
struct Mask16 {
  __m256 low, high;
};

TRIREME_INLINE __m256i lane_below(std::int64_t n, int first) {
  const __m256i lane = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane);
}
TRIREME_INLINE Mask16 first_lanes(std::int64_t n) {
  return {_mm256_castsi256_ps(lane_below(n, 0)), _mm256_castsi256_ps(lane_below(n, 8))};
}
TRIREME_INLINE Mask16 operator&(Mask16 a, Mask16 b) {
  return {_mm256_and_ps(a.low, b.low), _mm256_and_ps(a.high, b.high)};
}
TRIREME_INLINE Mask16 operator|(Mask16 a, Mask16 b) {
  return {_mm256_or_ps(a.low, b.low), _mm256_or_ps(a.high, b.high)};
}
TRIREME_INLINE bool any(Mask16 a) {
  return _mm256_movemask_ps(_mm256_or_ps(a.low, a.high)) != 0;
}

TRIREME_INLINE F32x16 broadcast(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
TRIREME_INLINE F32x16 load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
TRIREME_INLINE F32x16 load_first(const float* p, std::int64_t n) {
  return {_mm256_maskload_ps(p, lane_below(n, 0)), _mm256_maskload_ps(p + 8, lane_below(n, 8))};
}
TRIREME_INLINE void store(float* p, F32x16 a) {
  _mm256_storeu_ps(p, a.low);
  _mm256_storeu_ps(p + 8, a.high);
}
TRIREME_INLINE void store_first(float* p, F32x16 a, std::int64_t n) {
  _mm256_maskstore_ps(p, lane_below(n, 0), a.low);
  _mm256_maskstore_ps(p + 8, lane_below(n, 8), a.high);
}

TRIREME_INLINE F32x16 operator+(F32x16 a, F32x16 b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
TRIREME_INLINE F32x16 operator-(F32x16 a, F32x16 b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
TRIREME_INLINE F32x16 operator*(F32x16 a, F32x16 b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
TRIREME_INLINE F32x16 operator/(F32x16 a, F32x16 b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
TRIREME_INLINE F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
TRIREME_INLINE F32x16 sqrt(F32x16 a) {
  return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)};
}
TRIREME_INLINE F32x16 min(F32x16 a, F32x16 b) {
  return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
TRIREME_INLINE F32x16 max(F32x16 a, F32x16 b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
TRIREME_INLINE Mask16 less(F32x16 a, F32x16 b) {
  return {_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ)};
}
TRIREME_INLINE Mask16 equal(F32x16 a, F32x16 b) {
  return {_mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ)};
}
TRIREME_INLINE F32x16 select(Mask16 m, F32x16 a, F32x16 b) {
  return {_mm256_blendv_ps(b.low, a.low, m.low), _mm256_blendv_ps(b.high, a.high, m.high)};
}

TRIREME_INLINE F32x16 load_quads(const float* p, std::int64_t stride) {
  return {_mm256_loadu2_m128(p + stride, p), _mm256_loadu2_m128(p + 3 * stride, p + 2 * stride)};
}

TRIREME_INLINE U32x16 broadcast(std::uint32_t x) {
  return {_mm256_set1_epi32(static_cast<int>(x)), _mm256_set1_epi32(static_cast<int>(x))};
}
TRIREME_INLINE U32x16 load(const std::uint32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
TRIREME_INLINE void store(std::uint32_t* p, U32x16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), a.high);
}
TRIREME_INLINE U32x16 bits_of(F32x16 a) {
  return {_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)};
}
TRIREME_INLINE F32x16 float_of(U32x16 a) {
  return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)};
}
TRIREME_INLINE U32x16 operator+(U32x16 a, U32x16 b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
TRIREME_INLINE U32x16 operator-(U32x16 a, U32x16 b) {
  return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}
TRIREME_INLINE U32x16 operator&(U32x16 a, U32x16 b) {
  return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}
TRIREME_INLINE U32x16 operator|(U32x16 a, U32x16 b) {
  return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}
TRIREME_INLINE U32x16 operator^(U32x16 a, U32x16 b) {
  return {_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)};
}
template <int bits>
TRIREME_INLINE U32x16 shift_left(U32x16 a) {
  return {_mm256_slli_epi32(a.low, bits), _mm256_slli_epi32(a.high, bits)};
}
template <int bits>
TRIREME_INLINE U32x16 shift_right(U32x16 a) {
  return {_mm256_srli_epi32(a.low, bits), _mm256_srli_epi32(a.high, bits)};
}
template <int bits>
TRIREME_INLINE U32x16 shift_right_signed(U32x16 a) {
  return {_mm256_srai_epi32(a.low, bits), _mm256_srai_epi32(a.high, bits)};
}
TRIREME_INLINE Mask16 equal(U32x16 a, U32x16 b) {
  return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.low, b.low)),
          _mm256_castsi256_ps(_mm256_cmpeq_epi32(a.high, b.high))};
}
TRIREME_INLINE Mask16 less_signed(U32x16 a, U32x16 b) {
  return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(b.low, a.low)),
          _mm256_castsi256_ps(_mm256_cmpgt_epi32(b.high, a.high))};
}
TRIREME_INLINE U32x16 select(Mask16 m, U32x16 a, U32x16 b) {
  return bits_of(select(m, float_of(a), float_of(b)));
}
TRIREME_INLINE F32x16 float_of_signed(U32x16 a) {
  return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)};
}
TRIREME_INLINE U32x16 multiply_low(U32x16 a, U32x16 b) {
  return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
}
TRIREME_INLINE __m256i multiply_high(__m256i a, __m256i b) {
  const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(a, b), 32);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
  return _mm256_blend_epi32(even, odd, 0xAA);
}
TRIREME_INLINE U32x16 multiply_high(U32x16 a, U32x16 b) {
  return {multiply_high(a.low, b.low), multiply_high(a.high, b.high)};
}

TRIREME_INLINE void transpose_quads(__m256i& a, __m256i& b, __m256i& c, __m256i& d) {
  const __m256i ab_low = _mm256_unpacklo_epi32(a, b), ab_high = _mm256_unpackhi_epi32(a, b);
  const __m256i cd_low = _mm256_unpacklo_epi32(c, d), cd_high = _mm256_unpackhi_epi32(c, d);
  a = _mm256_unpacklo_epi64(ab_low, cd_low);
  b = _mm256_unpackhi_epi64(ab_low, cd_low);
  c = _mm256_unpacklo_epi64(ab_high, cd_high);
  d = _mm256_unpackhi_epi64(ab_high, cd_high);
}
TRIREME_INLINE void transpose_quads(U32x16& a, U32x16& b, U32x16& c, U32x16& d) {
  transpose_quads(a.low, b.low, c.low, d.low);
  transpose_quads(a.high, b.high, c.high, d.high);
}

TRIREME_INLINE U32x16 load_u16(const void* p) {
  const auto* halves = static_cast<const __m128i*>(p);
  return {_mm256_cvtepu16_epi32(_mm_loadu_si128(halves)), _mm256_cvtepu16_epi32(_mm_loadu_si128(halves + 1))};
}
// The lower 16 bits of each lane; every lane must be below 65536.
TRIREME_INLINE __m256i pack_u16(U32x16 a) {
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(a.low, a.high), 0xD8);
}
TRIREME_INLINE void store_u16(void* p, U32x16 a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), pack_u16(a));
}
TRIREME_INLINE F32x16 float_of_half_bits(U32x16 a) {
  const __m256i packed = pack_u16(a);
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(packed)), _mm256_cvtph_ps(_mm256_extracti128_si256(packed, 1))};
}
TRIREME_INLINE U32x16 half_bits_of(F32x16 a) {
  return {_mm256_cvtepu16_epi32(_mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT)),
          _mm256_cvtepu16_epi32(_mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT))};
}

TRIREME_INLINE F64x16 broadcast_double(double x) {
  const __m256d v = _mm256_set1_pd(x);
  return {{v, v, v, v}};
}
TRIREME_INLINE F64x16 to_double(F32x16 a) {
  return {{_mm256_cvtps_pd(_mm256_castps256_ps128(a.low)), _mm256_cvtps_pd(_mm256_extractf128_ps(a.low, 1)),
           _mm256_cvtps_pd(_mm256_castps256_ps128(a.high)), _mm256_cvtps_pd(_mm256_extractf128_ps(a.high, 1))}};
}
TRIREME_INLINE F64x16 operator+(F64x16 a, F64x16 b) {
  return {{_mm256_add_pd(a.v[0], b.v[0]), _mm256_add_pd(a.v[1], b.v[1]), _mm256_add_pd(a.v[2], b.v[2]),
           _mm256_add_pd(a.v[3], b.v[3])}};
}
TRIREME_INLINE F64x16 operator*(F64x16 a, F64x16 b) {
  return {{_mm256_mul_pd(a.v[0], b.v[0]), _mm256_mul_pd(a.v[1], b.v[1]), _mm256_mul_pd(a.v[2], b.v[2]),
           _mm256_mul_pd(a.v[3], b.v[3])}};
}
TRIREME_INLINE void store(double* p, F64x16 a) {
  for (int i = 0; i < 4; ++i) _mm256_storeu_pd(p + 4 * i, a.v[i]);
}

TRIREME_INLINE float sum(F32x16 a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
TRIREME_INLINE float maximum(F32x16 a) {
  const __m256 eight = _mm256_max_ps(a.low, a.high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

}  // namespace trireme::kernels::host::TRIREME_ISA
