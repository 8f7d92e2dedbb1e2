#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "elementary.isa.hpp"
#include "kernels/host/isa_call.hpp"

namespace trireme::kernels {
namespace {

using Lanes = std::array<float, 16>;
using Function = double (*)(double);

// The part of a Device that chooses an instruction set.
struct Processor {
  device::Isa best;
  [[nodiscard]] device::Isa isa() const { return best; }
};

Lanes evaluated(device::Isa isa, Elementary function, const Lanes& x) {
  Lanes y{};
  TRIREME_ISA_CALL(Processor{isa}, evaluate)(function, x.data(), y.data());
  return y;
}

double in_double(Elementary function, double x) {
  switch (function) {
    case Elementary::log:
      return std::log(x);
    case Elementary::tanh:
      return std::tanh(x);
    case Elementary::erf:
      return std::erf(x);
    default:
      return std::exp(x);
  }
}

// The error of y in units in the last place of the exact value; special values must be met exactly. A denormal result
// may also be zero: an earlier test's Device has told the processor to flush.
double error_ulp(float y, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(y) ? 0 : INFINITY;
  if (std::isinf(exact) || std::abs(exact) > std::numeric_limits<float>::max()) return y == rounded ? 0 : INFINITY;
  const bool denormal = std::abs(exact) < 0x1p-126;
  if (denormal && y == 0) return 0;
  const double unit = denormal ? 0x1p-149 : std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::abs(static_cast<double>(y) - exact) / unit;
}

// Every 60,013th float of all 2^32.
template <class Body>
void for_floats_of_all_sizes(const Body& body) {
  constexpr std::uint64_t stride = 60013;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 16 * stride) {
    Lanes x{};
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      x[lane] = std::bit_cast<float>(static_cast<std::uint32_t>(bits + lane * stride));
    }
    body(x);
  }
}

void expect_error_below(Elementary function, double limit_ulp) {
  for_floats_of_all_sizes([&](const Lanes& x) {
    const Lanes y = evaluated(device::detect_isa(), function, x);
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      if (function == Elementary::log && std::fpclassify(x[lane]) == FP_SUBNORMAL) continue;
      ASSERT_LT(error_ulp(y[lane], in_double(function, x[lane])), limit_ulp) << "at " << x[lane] << ": " << y[lane];
    }
  });
}

TEST(Math, ExpIsNearForEveryFloat) {
  expect_error_below(Elementary::exp, 1.5);
}
TEST(Math, LogIsNearForEveryFloat) {
  expect_error_below(Elementary::log, 1.5);
}
TEST(Math, TanhIsNearForEveryFloat) {
  expect_error_below(Elementary::tanh, 1.5);
}
TEST(Math, ErfIsNearForEveryFloat) {
  expect_error_below(Elementary::erf, 1.5);
}

TEST(Math, ExpOfNonpositiveIsNearAndEndsInZero) {
  for (float x = 1; x > -100; x -= 0.00373F) {
    Lanes lanes{};
    lanes.fill(x);
    const float y = evaluated(device::detect_isa(), Elementary::exp_of_nonpositive, lanes)[7];
    if (x < -87) {
      ASSERT_EQ(y, 0);
    } else {
      ASSERT_LT(error_ulp(y, std::exp(static_cast<double>(x))), 1.5) << x;
    }
  }
  const Lanes far{-INFINITY, -1e30F, -std::numeric_limits<float>::max(), NAN};
  const Lanes y = evaluated(device::detect_isa(), Elementary::exp_of_nonpositive, far);
  EXPECT_EQ(y[0] + y[1] + y[2], 0);
  EXPECT_TRUE(std::isnan(y[3]));
}

// The largest of denormals is one of them or zero, as the processor likes: both are zero to all that follows.
std::uint32_t flushed_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return (bits & 0x7F800000U) == 0 ? bits & 0x80000000U : bits;
}

TEST(Math, GivesTheSameBitsOnEveryInstructionSet) {
  for (int f = 0; f <= static_cast<int>(Elementary::maximum); ++f) {
    const auto function = static_cast<Elementary>(f);
    for_floats_of_all_sizes([&](const Lanes& x) {
      const Lanes first = evaluated(device::Isa::generic, function, x);
      for (const device::Isa isa : {device::Isa::avx2, device::Isa::avx512}) {
        if (isa > device::detect_isa()) continue;
        const Lanes y = evaluated(isa, function, x);
        for (std::size_t lane = 0; lane < x.size(); ++lane) {
          if (std::isnan(y[lane]) && std::isnan(first[lane])) continue;
          ASSERT_EQ(flushed_bits(y[lane]), flushed_bits(first[lane]))
              << "function " << f << " at " << x[lane] << " on " << name_of(isa);
        }
      }
    });
  }
}

TEST(Math, HalfPrecisionRoundsToNearestEven) {
  const float tiny = 0x1p-24F;  // the least positive half
  const Lanes x{1 + 0x1p-11F, 1 + 0x1.8p-10F, 65519, 65520, -1e9F, INFINITY, NAN, tiny / 2, 0.75F * tiny, 1.5F * tiny};
  const Lanes y = evaluated(device::detect_isa(), Elementary::half, x);
  const Lanes expected{1, 1 + 0x1p-9F, 65504, INFINITY, -INFINITY, INFINITY, NAN, 0, tiny, 2 * tiny};
  for (std::size_t i = 0; i < 10; ++i) {
    if (i == 6) {
      EXPECT_TRUE(std::isnan(y[i]));
    } else {
      EXPECT_EQ(y[i], expected[i]) << i;
    }
  }
}

TEST(Math, BfloatRoundsToNearestEven) {
  const Lanes x{1 + 0x1p-8F, 1 + 0x1.8p-7F, 0x1.fffffep127F, -INFINITY, NAN, 0x1.010002p0F};
  const Lanes y = evaluated(device::detect_isa(), Elementary::bfloat, x);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1 + 0x1p-6F);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], -INFINITY);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], 1 + 0x1p-7F);
}

TEST(Math, SumsAddLanesInATree) {
  // Lane i + 8 is added to lane i first: 2^24 + 1 loses the 1, 1 + 1 does not.
  Lanes x{};
  x[0] = 0x1p24F;
  x[8] = 1;
  x[1] = 1;
  x[9] = 1;
  EXPECT_EQ(evaluated(device::detect_isa(), Elementary::sum, x)[3], 0x1p24F + 2);
}

}  // namespace
}  // namespace trireme::kernels
