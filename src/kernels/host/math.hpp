// exp, log, tanh and erf of sixteen lanes, without branches: a loop's tail gives the bits of its vector lanes, and
// every instruction set the bits of the others.
//
// Coefficients: tools/minimax.py (Remez exchange for the function's relative error). Largest errors seen over one in
// two hundred of all floats, in units in the last place: exp 0.99, log 0.81, tanh 1.29, erf 1.04.
#pragma once

#include "kernels/host/simd.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

/// The polynomial c[0] + c[1] x + ... by Horner's rule with fused steps.
template <int count>
TRIREME_INLINE F32x16 polynomial(F32x16 x, const float (&c)[count]) {
  F32x16 result = broadcast(c[count - 1]);
  for (int k = count - 2; k >= 0; --k) result = fma(result, x, broadcast(c[k]));
  return result;
}

/// x = n ln 2 + rest with integral n, |rest| <= ln 2 / 2: n in the low bits of shifted_n (a float near 1.5 * 2^23).
struct ExpParts {
  F32x16 shifted_n, power_of_rest;
};
TRIREME_INLINE ExpParts exp_parts(F32x16 x) {
  constexpr float shift = 0x1.8p23F;
  constexpr float c[] = {0x1.fffffcp-2F, 0x1.555492p-3F, 0x1.5558f2p-5F, 0x1.123a00p-7F, 0x1.6a240cp-10F};
  const F32x16 shifted = fma(x, broadcast(0x1.715476p+0F), broadcast(shift));
  const F32x16 n = shifted - broadcast(shift);
  F32x16 rest = fma(n, broadcast(-0x1.62e4p-1F), x);
  rest = fma(n, broadcast(-0x1.7f7d1cp-20F), rest);
  return {shifted, fma(polynomial(rest, c), rest * rest, rest) + broadcast(1.0F)};
}

/// e^x for every float: 0 for -inf, +inf above 88.73, NaN for NaN.
TRIREME_INLINE F32x16 exp(F32x16 x) {
  const ExpParts parts = exp_parts(min(broadcast(89.0F), max(broadcast(-104.0F), x)));
  // Two factors, since 2^128 and 2^-127 are no normal floats.
  const U32x16 n = bits_of(parts.shifted_n) - broadcast(0x4B400000U);
  const U32x16 half = shift_right_signed<1>(n);
  const U32x16 bias = broadcast(127U);
  return parts.power_of_rest * float_of(shift_left<23>(half + bias)) * float_of(shift_left<23>(n - half + bias));
}

/// e^x for x <= 1, exactly 0 below -87 (where e^x < 2^-125). Cheaper than exp().
TRIREME_INLINE F32x16 exp_of_nonpositive(F32x16 x) {
  const ExpParts parts = exp_parts(x);
  const F32x16 power = float_of(bits_of(parts.power_of_rest) + shift_left<23>(bits_of(parts.shifted_n)));
  return select(less(x, broadcast(-87.0F)), zero(), power);
}

/// The natural logarithm: -inf for 0 and denormals, NaN for negative numbers and NaN, +inf for +inf.
TRIREME_INLINE F32x16 log(F32x16 x) {
  constexpr float c[] = {0x1.555554p-2F, -0x1.000226p-2F, 0x1.99a008p-3F, -0x1.547246p-3F,
                         0x1.22da20p-3F, -0x1.0d8540p-3F, 0x1.055b5ap-3F, -0x1.38b564p-4F};
  // x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
  const U32x16 k = shift_right_signed<23>(bits_of(x) - broadcast(0x3F3504F3U));
  const F32x16 f = float_of(bits_of(x) - shift_left<23>(k)) - broadcast(1.0F);
  const F32x16 exponent = float_of_signed(k);
  const F32x16 square = f * f;
  const F32x16 small = fma(square * f, polynomial(f, c), exponent * broadcast(0x1.7f7d1cp-20F));
  const F32x16 result =
      fma(exponent, broadcast(0x1.62e4p-1F), f - fnma(small, broadcast(1.0F), square * broadcast(0.5F)));
  const F32x16 infinity = broadcast(__builtin_inff());
  const F32x16 of_special =
      select(less(x, zero()), broadcast(__builtin_nanf("")), select(less(x, infinity), -infinity, x));
  const Mask16 ordinary = less(x, infinity) & less(broadcast(0x1.fffffcp-127F), x);
  return select(ordinary, result, of_special);
}

/// The hyperbolic tangent of every float.
TRIREME_INLINE F32x16 tanh(F32x16 x) {
  constexpr float c[] = {-0x1.555532p-2F, 0x1.110726p-3F, -0x1.b83c5ap-5F, 0x1.522698p-6F, -0x1.75e1c2p-8F};
  const F32x16 square = x * x;
  const F32x16 small = fma(x * square, polynomial(square, c), x);
  // From 9.02 on the result rounds to 1; min() returns its second argument for NaN.
  const F32x16 magnitude = min(broadcast(10.0F), abs(x));
  const F32x16 power = exp(magnitude + magnitude);
  const F32x16 large = broadcast(1.0F) - broadcast(2.0F) / (power + broadcast(1.0F));
  return select(less(abs(x), broadcast(0.625F)), small, copy_sign(large, x));
}

/// The error function of every float.
TRIREME_INLINE F32x16 erf(F32x16 x) {
  constexpr float near[] = {0x1.06eba8p-3F, -0x1.81273ep-2F,  0x1.ce2cf8p-4F, -0x1.b7f90ep-6F,
                            0x1.5405b2p-8F, -0x1.a3f700p-11F, 0x1.496a30p-14F};
  constexpr float far[] = {0x1.575b32p+2F,  0x1.1ac320p+2F,  0x1.d8f638p-1F,  0x1.0e2348p-6F,
                           -0x1.d08ca8p-9F, 0x1.74d37cp-11F, -0x1.86dd5ap-13F};
  const F32x16 small = fma(x, polynomial(x * x, near), x);
  // From 3.92 on the result rounds to 1.
  const F32x16 magnitude = min(broadcast(4.0F), abs(x));
  const F32x16 large = broadcast(1.0F) - exp(-polynomial(magnitude - broadcast(2.0F), far));
  return select(less(abs(x), broadcast(1.0F)), small, copy_sign(large, x));
}

}  // namespace trireme::kernels::host::TRIREME_ISA
