// Element types of activations: conversion of one element, for host and device, and the choice of a kernel's type.
#pragma once

#include <cstdint>
#include <cstring>

#include <Kokkos_Macros.hpp>

#include "trireme/base/dtype.hpp"
#include "trireme/base/error.hpp"

namespace trireme::kernels {

/// Calls body(T{}) with the element type T of `dtype`: fp32, bf16 or fp16.
template <class Body>
void with_element_type(Dtype dtype, const Body& body) {
  TRIREME_EXPECT(dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16);
  switch (dtype) {
    case Dtype::bf16:
      return body(Bf16{});
    case Dtype::f16:
      return body(Fp16{});
    default:
      return body(float{});
  }
}

KOKKOS_INLINE_FUNCTION std::uint32_t float_bits(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
KOKKOS_INLINE_FUNCTION float float_from_bits(std::uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

KOKKOS_INLINE_FUNCTION float to_float(float x) {
  return x;
}
KOKKOS_INLINE_FUNCTION float to_float(Bf16 x) {
  return float_from_bits(std::uint32_t{x.bits} << 16);
}
KOKKOS_INLINE_FUNCTION float to_float(Fp16 x) {
  const std::uint32_t sign = (x.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = x.bits & 0x7FFFU;
  if (magnitude < 0x0400U) return float_from_bits(float_bits(static_cast<float>(magnitude) * 0x1p-24F) | sign);
  if (magnitude < 0x7C00U) return float_from_bits(((magnitude << 13) + (112U << 23)) | sign);
  const std::uint32_t quiet = magnitude > 0x7C00U ? 0x00400000U : 0U;
  return float_from_bits(0x7F800000U | quiet | (magnitude << 13) | sign);
}

/// T's nearest number, ties to even; a NaN stays one.
template <class T>
KOKKOS_INLINE_FUNCTION T from_float(float x);

template <>
KOKKOS_INLINE_FUNCTION float from_float<float>(float x) {
  return x;
}
template <>
KOKKOS_INLINE_FUNCTION Bf16 from_float<Bf16>(float x) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x0040U;
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return {static_cast<std::uint16_t>(is_nan ? quiet : rounded)};
}
template <>
KOKKOS_INLINE_FUNCTION Fp16 from_float<Fp16>(float x) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = (magnitude - (112U << 23) + 0x0FFFU + ((magnitude >> 13) & 1U)) >> 13;
  if (magnitude > 0x7F800000U) {
    half = 0x7E00U | ((magnitude >> 13) & 0x03FFU);
  } else if (magnitude >= 0x477FF000U) {
    half = 0x7C00U;
  } else if (magnitude < 0x38800000U) {
    // Half's denormals are multiples of 2^-24, the last place of 0.5: the addition rounds to nearest even.
    half = float_bits(float_from_bits(magnitude) + 0.5F) - 0x3F000000U;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace trireme::kernels
