#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "trireme/kernels/reduce.hpp"

#include "support/array.hpp"

namespace trireme::kernels {
namespace {

constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::denorm_min();

__extension__ typedef __int128 Wide;

double sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return sum.value();
}

// Numbers of either sign over many binades.
std::vector<double> wild_numbers(std::size_t count, double binades) {
  test::Numbers numbers(17);
  std::vector<double> values(count);
  for (double& value : values) {
    value = std::ldexp(numbers.next(-1, 1), static_cast<int>(numbers.next(-binades, binades)));
  }
  return values;
}

TEST(ExactSum, ReturnsASingleNumberUnchanged) {
  for (const double value : {0.0, 1.0, -1.0, 0.1, -1e300, 1e-300, largest, -largest, smallest, -smallest,
                             std::numeric_limits<double>::min(), 3 * smallest, 0x1.fffffffffffffp-1022}) {
    EXPECT_EQ(sum_of({value}), value);
  }
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    EXPECT_EQ(sum_of({std::ldexp(1.0, exponent)}), std::ldexp(1.0, exponent));
  }
}

TEST(ExactSum, IsZeroOfNothing) {
  EXPECT_EQ(ExactSum().value(), 0.0);
}

TEST(ExactSum, RoundsOnceToNearestEven) {
  EXPECT_EQ(sum_of({1, 0x1p-53}), 1);                                      // a tie, to even
  EXPECT_EQ(sum_of({0x1.0000000000001p0, 0x1p-53}), 0x1.0000000000002p0);  // a tie, to even
  EXPECT_EQ(sum_of({1, 0x1p-53, smallest}), 0x1.0000000000001p0);          // beyond the tie by the least
  EXPECT_EQ(sum_of({1, 0x1p-53, -smallest}), 1);
  EXPECT_EQ(sum_of({-1, -0x1p-53, -smallest}), -0x1.0000000000001p0);
  EXPECT_EQ(sum_of({0x1.fffffffffffffp0, 0x1p-53}), 2);  // the carry moves the exponent
}

TEST(ExactSum, ForgetsNothingThatCancels) {
  EXPECT_EQ(sum_of({1e300, 1, -1e300}), 1);
  EXPECT_EQ(sum_of({largest, largest, smallest, -largest, -largest}), smallest);
  EXPECT_EQ(sum_of({1e16, -1, -1e16, 0.5}), -0.5);
  std::vector<double> values = wild_numbers(500, 600);
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(0.3);
  EXPECT_EQ(sum_of(values), 0.3);
}

TEST(ExactSum, OverflowsOnlyAtTheEnd) {
  EXPECT_EQ(sum_of({largest, largest}), INFINITY);
  EXPECT_EQ(sum_of({-largest, -largest}), -INFINITY);
  EXPECT_EQ(sum_of({largest, largest, -largest}), largest);
}

TEST(ExactSum, AgreesWithIntegersOf128Bits) {
  // Multiples of 2^-40 below 2^50: their sum is an integer of less than 128 bits, rounded once by the conversion.
  test::Numbers numbers(23);
  for (int round = 0; round < 50; ++round) {
    ExactSum sum;
    Wide exact = 0;
    for (int i = 0; i < 200; ++i) {
      const auto units = static_cast<std::int64_t>(std::ldexp(numbers.next(-1, 1), 50));
      const auto factor = static_cast<std::int64_t>(numbers.next(0, 1000));
      exact += static_cast<Wide>(units) * (std::int64_t{1} << 40) + factor;
      sum.add(static_cast<double>(units));
      sum.add(std::ldexp(static_cast<double>(factor), -40));
    }
    EXPECT_EQ(sum.value(), std::ldexp(static_cast<double>(exact), -40));
  }
}

TEST(ExactSum, DoesNotDependOnTheOrder) {
  std::vector<double> values = wild_numbers(2000, 300);
  const double forward = sum_of(values);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(sum_of(values), forward);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(sum_of(values), forward);
}

TEST(ExactSum, DoesNotDependOnTheSplit) {
  const std::vector<double> values = wild_numbers(2000, 300);
  for (const std::size_t parts : {2U, 3U, 7U}) {
    std::vector<ExactSum> sums(parts);
    for (std::size_t i = 0; i < values.size(); ++i) sums[i % parts].add(values[i]);
    ExactSum by_class = sums[0];
    for (std::size_t p = 1; p < parts; ++p) by_class.add(sums[p]);
    ExactSum by_words = sums[0];
    for (std::size_t p = 1; p < parts; ++p) {
      for (std::size_t w = 0; w < by_words.words().size(); ++w) by_words.words()[w] += sums[p].words()[w];
    }
    EXPECT_EQ(by_class.value(), sum_of(values));
    EXPECT_EQ(by_words.value(), sum_of(values));
  }
}

TEST(ExactSum, TakesManyAdditionsOfTheSameSign) {
  ExactSum sum;
  for (int i = 0; i < 1 << 20; ++i) sum.add(-0x1.fffffffffffffp1000);
  EXPECT_EQ(sum.value(), -0x1.fffffffffffffp1020);
}

TEST(ExactSum, KeepsNansAndInfinitiesThroughTheWords) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    ExactSum one;
    one.add(bad);
    ExactSum other;
    other.add(1);
    for (std::size_t w = 0; w < other.words().size(); ++w) other.words()[w] += one.words()[w];
    EXPECT_TRUE(std::isnan(other.value()));
    other.add(-bad);
    EXPECT_TRUE(std::isnan(other.value()));
  }
}

}  // namespace
}  // namespace trireme::kernels
