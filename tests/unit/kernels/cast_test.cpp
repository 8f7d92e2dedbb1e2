#include "trireme/kernels/cast.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/portable/cast.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

// The value of a number of 1 sign, `exponent_bits` and `fraction_bits` bits, from the definition of IEEE 754.
double value_of(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = (bits & ((1 << fraction_bits) - 1)) * std::ldexp(1.0, -fraction_bits);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, exponent - bias);
}
double value_of(Bf16 x) {
  return value_of(x.bits, 8, 7);
}
double value_of(Fp16 x) {
  return value_of(x.bits, 5, 10);
}

template <class Half>
Array<Half> every_number() {
  Array<Half> all({65536});
  for (std::size_t i = 0; i < 65536; ++i) all.values()[i].bits = static_cast<std::uint16_t>(i);
  return all;
}

// cast() on every device, and the portable form, must fulfil the check.
template <class Check>
void for_each_cast(const Check& check) {
  test::for_each_device([&](const device::Device& device) {
    check([&](const tensor::Tensor& from, const tensor::Tensor& to) { cast(device, from, to); });
  });
  check([](const tensor::Tensor& from, const tensor::Tensor& to) { portable::cast(from, to); });
}

// Denormals of a float may be read as zero: the processor is set so.
bool is_float_denormal(double value) {
  return std::abs(value) < 0x1p-126;
}

template <class Half>
void expect_round_trip() {
  for_each_cast([](const auto& cast_form) {
    Array<Half> all = every_number<Half>();
    Array<float> floats({65536});
    Array<Half> back({65536});
    cast_form(all.tensor(), floats.tensor());
    cast_form(floats.tensor(), back.tensor());
    for (std::size_t i = 0; i < 65536; ++i) {
      const double exact = value_of(all.values()[i]);
      if (is_float_denormal(exact)) continue;
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(floats.values()[i]) && std::isnan(value_of(back.values()[i]))) << i;
        continue;
      }
      ASSERT_EQ(static_cast<double>(floats.values()[i]), exact) << i;
      ASSERT_EQ(back.values()[i].bits, i);
    }
  });
}

TEST(Cast, BringsEveryBf16ToFloatAndBack) {
  expect_round_trip<Bf16>();
}
TEST(Cast, BringsEveryFp16ToFloatAndBack) {
  expect_round_trip<Fp16>();
}

// Between neighbours of equal sign: the middle goes to the even one, a bit less or more to the nearer.
template <class Half>
void expect_rounding(std::uint16_t largest_finite) {
  std::vector<float> points;
  std::vector<std::uint16_t> expected;
  for (std::uint16_t bits = 0; bits < largest_finite; ++bits) {
    const double low = value_of(Half{bits});
    const double high = value_of(Half{static_cast<std::uint16_t>(bits + 1)});
    const auto middle = static_cast<float>((low + high) / 2);
    if (is_float_denormal(low)) continue;
    points.push_back(middle);
    expected.push_back(bits % 2 == 0 ? bits : static_cast<std::uint16_t>(bits + 1));
    points.push_back(std::nextafter(middle, 0.0F));
    expected.push_back(bits);
    points.push_back(std::nextafter(middle, std::numeric_limits<float>::infinity()));
    expected.push_back(static_cast<std::uint16_t>(bits + 1));
  }
  const auto size = static_cast<std::int64_t>(points.size());
  for_each_cast([&](const auto& cast_form) {
    Array<float> source({size}, points);
    Array<Half> target({size});
    cast_form(source.tensor(), target.tensor());
    for (std::size_t i = 0; i < points.size(); ++i) ASSERT_EQ(target.values()[i].bits, expected[i]) << points[i];
    for (float& point : source.values()) point = -point;
    cast_form(source.tensor(), target.tensor());
    for (std::size_t i = 0; i < points.size(); ++i) ASSERT_EQ(target.values()[i].bits, expected[i] | 0x8000);
  });
}

TEST(Cast, RoundsToTheNearestBf16TiesToEven) {
  expect_rounding<Bf16>(0x7f7f);
}
TEST(Cast, RoundsToTheNearestFp16TiesToEven) {
  expect_rounding<Fp16>(0x7bff);
}

TEST(Cast, OverflowsToInfinityAndKeepsNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for_each_cast([&](const auto& cast_form) {
    Array<float> source({5}, {65519.0F, 65520.0F, -1e30F, infinity, nan});
    Array<Fp16> halves({5});
    cast_form(source.tensor(), halves.tensor());
    EXPECT_EQ(halves.values()[0].bits, 0x7bff);
    EXPECT_EQ(halves.values()[1].bits, 0x7c00);
    EXPECT_EQ(halves.values()[2].bits, 0xfc00);
    EXPECT_EQ(halves.values()[3].bits, 0x7c00);
    EXPECT_TRUE(std::isnan(value_of(halves.values()[4])));
    source.values()[0] = std::numeric_limits<float>::max();
    Array<Bf16> brains({5});
    cast_form(source.tensor(), brains.tensor());
    EXPECT_EQ(brains.values()[0].bits, 0x7f80);
    EXPECT_EQ(brains.values()[3].bits, 0x7f80);
    EXPECT_TRUE(std::isnan(value_of(brains.values()[4])));
  });
}

TEST(Cast, TakesAnySizeAndGoesBetweenTheHalves) {
  for_each_cast([](const auto& cast_form) {
    for (const std::int64_t size : {0, 1, 15, 16, 17, 8191, 8193}) {
      test::Numbers numbers(2);
      Array<float> source({size});
      for (float& value : source.values()) value = static_cast<float>(static_cast<int>(numbers.next(-128, 128)));
      Array<Bf16> brains({size});
      Array<Fp16> halves({size});
      Array<float> copy({size});
      cast_form(source.tensor(), brains.tensor());
      cast_form(brains.tensor(), halves.tensor());
      cast_form(halves.tensor(), copy.tensor());
      EXPECT_TRUE(test::all_near(copy.values(), source.doubles(), 0));
      cast_form(source.tensor(), copy.tensor());
      EXPECT_TRUE(test::same_bits(copy.values(), source.values()));
    }
  });
}

}  // namespace
}  // namespace trireme::kernels
