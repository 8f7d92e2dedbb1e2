#include "kernels/portable/dropout.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "trireme/kernels/random.hpp"

#include "kernels/host/dropout_stream.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

constexpr Dropout tenth{.probability = 0.1F, .seed = 0x123456789abcdefU, .site = 3, .step = 17, .first_sequence = 40};

struct Sizes {
  std::int64_t rows, tokens, width;
};
// Sequences smaller and larger than a thread's run of 8192 elements, many and a part of one.
constexpr Sizes all_sizes[] = {{0, 1, 5},    {1, 1, 1},    {3, 1, 7},    {5, 2, 16},   {9, 3, 33},
                               {1, 9, 63},   {4, 2, 64},   {7, 4, 65},   {30, 10, 99}, {27, 9, 911},
                               {2, 1, 8192}, {3, 1, 9001}, {40, 20, 768}};

Dropout dropout_of(const Sizes& sizes, std::int64_t first_row = 0) {
  Dropout dropout = tenth;
  dropout.tokens = sizes.tokens;
  dropout.first_row = first_row;
  return dropout;
}

TEST(Survives, IsTheWordOfPhiloxThatTheHeaderNames) {
  std::int64_t survivors = 0;
  for (std::int64_t element = 0; element < 1000; ++element) {
    const PhiloxCounter counter{static_cast<std::uint32_t>(element / 4), 41, 17, 3};
    const PhiloxCounter words = philox(counter, {0x89abcdefU, 0x01234567U});
    const double uniform = words[static_cast<std::size_t>(element % 4)] * 0x1p-32;
    EXPECT_EQ(survives(tenth, 41, element), uniform >= static_cast<double>(0.1F));
    survivors += survives(tenth, 41, element) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(survivors), 900, 50);
}

TEST(Survives, CarriesLargeElementsIntoTheWordOfTheSite) {
  const auto expect_words_of = [](std::int64_t element, const PhiloxCounter& counter) {
    const PhiloxCounter words = philox(counter, {0x89abcdefU, 0x01234567U});
    EXPECT_EQ(survives(tenth, 0, element), words[static_cast<std::size_t>(element % 4)] * 0x1p-32 >= 0.1F) << element;
  };
  for (std::int64_t k = 0; k < 64; ++k) {
    expect_words_of((std::int64_t{1} << 34) - 1 - k, {0xffffffffU - static_cast<std::uint32_t>(k / 4), 0, 17, 3});
    expect_words_of((std::int64_t{1} << 34) + k, {static_cast<std::uint32_t>(k / 4), 0, 17, 0x10003U});
    expect_words_of((std::int64_t{1} << 50) - 1 - k,
                    {0xffffffffU - static_cast<std::uint32_t>(k / 4), 0, 17, 0xffff0003U});
  }
}

// What dropout gives, element by element.
std::vector<float> dropped_out(const Dropout& dropout, std::int64_t width, const std::vector<float>& x) {
  std::vector<float> y;
  const float scale = 1.0F / (1.0F - dropout.probability);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t row = dropout.first_row + static_cast<std::int64_t>(i) / width;
    const std::int64_t element = row % dropout.tokens * width + static_cast<std::int64_t>(i) % width;
    const bool survivor = survives(dropout, dropout.first_sequence + row / dropout.tokens, element);
    y.push_back(survivor ? x[i] * scale : 0.0F);
  }
  return y;
}

TEST(Dropout, DropsTheElementsThatSurvivesNamesOnEveryDevice) {
  for (const Sizes& sizes : all_sizes) {
    for (const std::int64_t first_row : {0, 1, 5}) {
      SCOPED_TRACE(testing::Message() << sizes.rows << " x " << sizes.width << " from " << first_row);
      const Dropout dropout = dropout_of(sizes, first_row);
      test::Numbers numbers(1);
      Array<float> x = numbers.floats({sizes.rows, sizes.width});
      Array<float> residual = numbers.floats({sizes.rows, sizes.width});
      const std::vector<float> expected = dropped_out(dropout, sizes.width, x.values());
      std::vector<float> expected_sum = expected;
      for (std::size_t i = 0; i < expected.size(); ++i) expected_sum[i] = residual.values()[i] + expected[i];
      Array<float> y({sizes.rows, sizes.width});
      test::for_each_device([&](const device::Device& device) {
        dropout_apply(device, dropout, x.tensor(), y.tensor());
        EXPECT_TRUE(test::same_bits(y.values(), expected));
        residual_add(device, dropout, residual.tensor(), x.tensor(), y.tensor());
        EXPECT_TRUE(test::same_bits(y.values(), expected_sum));
      });
      portable::dropout_apply(dropout, x.tensor(), y.tensor());
      EXPECT_TRUE(test::same_bits(y.values(), expected));
      portable::residual_add(dropout, residual.tensor(), x.tensor(), y.tensor());
      EXPECT_TRUE(test::same_bits(y.values(), expected_sum));
    }
  }
}

TEST(Dropout, OfRowsCutAnywhereIsThatOfTheWhole) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const Sizes& sizes : {Sizes{12, 4, 5}, Sizes{11, 3, 33}, Sizes{9, 9, 1025}, Sizes{10, 2, 4099}}) {
    test::Numbers numbers(1);
    Array<float> x = numbers.floats({sizes.rows, sizes.width});
    Array<float> residual = numbers.floats({sizes.rows, sizes.width});
    Array<float> whole({sizes.rows, sizes.width});
    residual_add(device, dropout_of(sizes), residual.tensor(), x.tensor(), whole.tensor());
    for (std::int64_t cut = 0; cut <= sizes.rows; ++cut) {
      for (std::int64_t second_cut = cut; second_cut <= sizes.rows; ++second_cut) {
        Array<float> parts({sizes.rows, sizes.width});
        const auto add = [&](std::int64_t begin, std::int64_t end) {
          const auto of = [&](Array<float>& array) { return array.tensor().rows(begin, end - begin); };
          residual_add(device, dropout_of(sizes, begin), of(residual), of(x), of(parts));
        };
        add(0, cut);
        add(cut, second_cut);
        add(second_cut, sizes.rows);
        ASSERT_TRUE(test::same_bits(parts.values(), whole.values())) << cut << " " << second_cut;
      }
    }
  }
}

TEST(Dropout, KeepsNamingElementsBeyondThirtyFourBits) {
  const std::int64_t width = 129;
  Dropout dropout = tenth;
  dropout.tokens = std::int64_t{1} << 40;
  dropout.first_row = (std::int64_t{1} << 34) / width - 2;
  test::Numbers numbers(1);
  Array<float> x = numbers.floats({5, width});
  const std::vector<float> expected = dropped_out(dropout, width, x.values());
  Array<float> y({5, width});
  test::for_each_device([&](const device::Device& device) {
    dropout_apply(device, dropout, x.tensor(), y.tensor());
    EXPECT_TRUE(test::same_bits(y.values(), expected));
  });
}

TEST(Dropout, WorksInPlace) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  test::Numbers numbers(1);
  Array<float> x = numbers.floats({2, 1000});
  Array<float> residual = numbers.floats({2, 1000});
  Array<float> sum({2, 1000});
  residual_add(device, tenth, residual.tensor(), x.tensor(), sum.tensor());
  residual_add(device, tenth, residual.tensor(), x.tensor(), residual.tensor());
  EXPECT_TRUE(test::same_bits(residual.values(), sum.values()));
  const std::vector<float> expected = dropped_out(tenth, 1000, x.values());
  dropout_apply(device, tenth, x.tensor(), x.tensor());
  EXPECT_TRUE(test::same_bits(x.values(), expected));
}

TEST(Dropout, OfProbabilityZeroCopiesAndAddsOnly) {
  test::Numbers numbers(1);
  Array<float> x = numbers.floats({10, 1000});
  Array<float> residual = numbers.floats({10, 1000});
  std::vector<float> expected_sum;
  for (std::size_t i = 0; i < 10000; ++i) expected_sum.push_back(residual.values()[i] + x.values()[i]);
  test::for_each_device([&](const device::Device& device) {
    Array<float> y({10, 1000});
    dropout_apply(device, {}, x.tensor(), y.tensor());
    EXPECT_TRUE(test::same_bits(y.values(), x.values()));
    residual_add(device, {}, residual.tensor(), x.tensor(), y.tensor());
    EXPECT_TRUE(test::same_bits(y.values(), expected_sum));
  });
}

TEST(Dropout, MakesZeroOfADroppedInfinity) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Array<float> x({1, 200}, std::vector<float>(200, std::numeric_limits<float>::infinity()));
  const std::vector<float> expected = dropped_out(tenth, 200, x.values());
  dropout_apply(device, tenth, x.tensor(), x.tensor());
  EXPECT_TRUE(test::same_bits(x.values(), expected));
}

}  // namespace
}  // namespace trireme::kernels
