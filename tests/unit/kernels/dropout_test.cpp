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

constexpr std::int64_t all_sizes[] = {1, 7, 16, 33, 63, 64, 65, 100, 768, 8191, 8192, 9001};
constexpr Dropout tenth{.probability = 0.1F, .seed = 0x123456789abcdefU, .site = 3, .step = 17, .first_sequence = 40};

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

TEST(Survives, ReachesTheLastElements) {
  // Element numbers up to 2^34 fill the counter's first word.
  const std::int64_t last = (std::int64_t{1} << 34) - 1;
  const PhiloxCounter words = philox({0xffffffffU, 0, 17, 3}, {0x89abcdefU, 0x01234567U});
  EXPECT_EQ(survives(tenth, 0, last), words[3] * 0x1p-32 >= static_cast<double>(0.1F));
}

// What dropout gives, element by element.
std::vector<float> dropped_out(const Dropout& dropout, std::int64_t batch, const std::vector<float>& x) {
  std::vector<float> y;
  const std::int64_t elements = static_cast<std::int64_t>(x.size()) / batch;
  const float scale = 1.0F / (1.0F - dropout.probability);
  for (std::int64_t i = 0; i < batch * elements; ++i) {
    const bool survivor = survives(dropout, dropout.first_sequence + i / elements, i % elements);
    y.push_back(survivor ? x[static_cast<std::size_t>(i)] * scale : 0.0F);
  }
  return y;
}

TEST(Dropout, DropsTheElementsThatSurvivesNamesOnEveryDevice) {
  for (const std::int64_t batch : {1, 3}) {
    for (const std::int64_t size : all_sizes) {
      SCOPED_TRACE(size);
      test::Numbers numbers(1);
      Array<float> x = numbers.floats({batch, size});
      Array<float> residual = numbers.floats({batch, size});
      const std::vector<float> expected = dropped_out(tenth, batch, x.values());
      std::vector<float> expected_sum = expected;
      for (std::size_t i = 0; i < expected.size(); ++i) expected_sum[i] = residual.values()[i] + expected[i];
      Array<float> y({batch, size});
      test::for_each_device([&](const device::Device& device) {
        dropout_apply(device, tenth, batch, x.tensor(), y.tensor());
        EXPECT_TRUE(test::same_bits(y.values(), expected));
        residual_add(device, tenth, batch, residual.tensor(), x.tensor(), y.tensor());
        EXPECT_TRUE(test::same_bits(y.values(), expected_sum));
      });
      portable::dropout_apply(tenth, batch, x.tensor(), y.tensor());
      EXPECT_TRUE(test::same_bits(y.values(), expected));
      portable::residual_add(tenth, batch, residual.tensor(), x.tensor(), y.tensor());
      EXPECT_TRUE(test::same_bits(y.values(), expected_sum));
    }
  }
}

TEST(Dropout, WorksInPlace) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  test::Numbers numbers(1);
  Array<float> x = numbers.floats({2, 1000});
  Array<float> residual = numbers.floats({2, 1000});
  Array<float> sum({2, 1000});
  residual_add(device, tenth, 2, residual.tensor(), x.tensor(), sum.tensor());
  residual_add(device, tenth, 2, residual.tensor(), x.tensor(), residual.tensor());
  EXPECT_TRUE(test::same_bits(residual.values(), sum.values()));
  const std::vector<float> expected = dropped_out(tenth, 2, x.values());
  dropout_apply(device, tenth, 2, x.tensor(), x.tensor());
  EXPECT_TRUE(test::same_bits(x.values(), expected));
}

TEST(Dropout, OfProbabilityZeroCopiesAndAddsOnly) {
  test::Numbers numbers(1);
  Array<float> x = numbers.floats({1, 1000});
  Array<float> residual = numbers.floats({1, 1000});
  std::vector<float> expected_sum;
  for (std::size_t i = 0; i < 1000; ++i) expected_sum.push_back(residual.values()[i] + x.values()[i]);
  test::for_each_device([&](const device::Device& device) {
    Array<float> y({1, 1000});
    dropout_apply(device, {}, 1, x.tensor(), y.tensor());
    EXPECT_TRUE(test::same_bits(y.values(), x.values()));
    residual_add(device, {}, 1, residual.tensor(), x.tensor(), y.tensor());
    EXPECT_TRUE(test::same_bits(y.values(), expected_sum));
  });
}

TEST(Dropout, MakesZeroOfADroppedInfinity) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Array<float> x({1, 200}, std::vector<float>(200, std::numeric_limits<float>::infinity()));
  const std::vector<float> expected = dropped_out(tenth, 1, x.values());
  dropout_apply(device, tenth, 1, x.tensor(), x.tensor());
  EXPECT_TRUE(test::same_bits(x.values(), expected));
}

TEST(Dropout, OfASequenceDoesNotDependOnTheMicroBatch) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  test::Numbers numbers(1);
  Array<float> x = numbers.floats({4, 999});
  Array<float> together({4, 999});
  dropout_apply(device, tenth, 4, x.tensor(), together.tensor());
  for (std::int64_t sequence = 0; sequence < 4; ++sequence) {
    Dropout dropout = tenth;
    dropout.first_sequence += sequence;
    Array<float> alone({1, 999});
    dropout_apply(device, dropout, 1, x.tensor().rows(sequence, 1), alone.tensor());
    const auto begin = together.values().begin() + sequence * 999;
    EXPECT_TRUE(test::same_bits(alone.values(), {begin, begin + 999}));
  }
}

}  // namespace
}  // namespace trireme::kernels
