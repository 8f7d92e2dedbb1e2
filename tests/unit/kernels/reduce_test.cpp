#include "trireme/kernels/reduce.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "trireme/kernels/cast.hpp"

#include "kernels/portable/reduce.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

struct Sizes {
  std::int64_t rows, columns;
};
constexpr Sizes all_sizes[] = {{0, 5}, {1, 1}, {1, 31}, {3, 1023}, {2, 1025}, {33, 100}, {97, 48}, {7, 3001}, {300, 7}};

TEST(SumOfSquares, MatchesASumInDouble) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const Sizes& sizes : all_sizes) {
    for (const bool tied : {false, true}) {
      test::Numbers numbers(9);
      const Array<float> x = numbers.floats({sizes.rows, sizes.columns});
      const Array<float> y = numbers.floats({sizes.rows, sizes.columns});
      double expected = 2.5;
      for (std::size_t i = 0; i < x.values().size(); ++i) {
        const double value = tied ? x.values()[i] + y.values()[i] : x.values()[i];
        expected += value * value;
      }
      ExactSum sum;
      sum.add(2.5);
      sum_of_squares(device, sizes.rows, sizes.columns, x.values().data(), tied ? y.values().data() : nullptr, sum);
      EXPECT_NEAR(sum.value(), expected, 1e-12 * expected);
    }
  }
}

TEST(SumOfSquares, GivesTheSameBitsOnEveryDevice) {
  for (const Sizes& sizes : all_sizes) {
    test::Numbers numbers(9);
    const Array<float> x = numbers.floats({sizes.rows, sizes.columns});
    const auto sum_on = [&](const device::Device& device) {
      ExactSum sum;
      sum_of_squares(device, sizes.rows, sizes.columns, x.values().data(), nullptr, sum);
      return sum.value();
    };
    const double first = sum_on(device::Device({.num_threads = 1, .isa = device::Isa::generic}));
    test::for_each_device([&](const device::Device& device) { EXPECT_EQ(sum_on(device), first); });
  }
}

TEST(SumOfSquares, DoesNotDependOnACutAtARunsBorder) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  test::Numbers numbers(9);
  const Array<float> x = numbers.floats({1, 5000});
  ExactSum whole;
  sum_of_squares(device, 1, 5000, x.values().data(), nullptr, whole);
  ExactSum parts;
  sum_of_squares(device, 1, 2 * run_elements, x.values().data(), nullptr, parts);
  sum_of_squares(device, 1, 5000 - 2 * run_elements, x.values().data() + 2 * run_elements, nullptr, parts);
  EXPECT_EQ(parts.value(), whole.value());
}

TEST(SumOfSquares, IsNanWhenAnElementIsNotFinite) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Array<float> x({1, 100});
    x.values()[99] = bad;
    ExactSum sum;
    sum_of_squares(device, 1, 100, x.values().data(), nullptr, sum);
    EXPECT_TRUE(std::isnan(sum.value()));
  }
}

TEST(AddTo, AddsEachElementOnce) {
  test::for_each_device([](const device::Device& device) {
    for (const std::int64_t count : {0, 1, 17, 8192, 30011}) {
      test::Numbers numbers(2);
      const Array<float> source = numbers.floats({count});
      Array<float> target = numbers.floats({count});
      std::vector<float> expected = target.values();
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += source.values()[i];
      add_to(device, count, source.values().data(), target.values().data());
      EXPECT_TRUE(test::same_bits(target.values(), expected));
    }
  });
}

// The tree by its definition: the left subtree holds the largest power of two below the count.
float tree_of(const float* first, std::int64_t stride, std::int64_t count) {
  if (count == 1) return *first;
  std::int64_t left = 1;
  while (2 * left < count) left *= 2;
  return tree_of(first, stride, left) + tree_of(first + left * stride, stride, count - left);
}

TEST(TreeSum, AddsInTheBalancedTreeOnEveryDevice) {
  for (const std::int64_t count : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 17}) {
    for (const std::int64_t elements : {0, 1, 17, 1031, 8192, 20011}) {
      SCOPED_TRACE(testing::Message() << count << " parts of " << elements);
      test::Numbers numbers(12);
      const Array<float> parts = numbers.floats({count, elements});
      std::vector<float> expected;
      for (std::int64_t i = 0; i < elements; ++i)
        expected.push_back(tree_of(&parts.values()[static_cast<std::size_t>(i)], elements, count));
      test::for_each_device([&](const device::Device& device) {
        Array<float> sum = parts;
        tree_sum(device, sum.values().data(), count, elements);
        sum.values().resize(static_cast<std::size_t>(elements));
        EXPECT_TRUE(test::same_bits(sum.values(), expected));
      });
    }
  }
}

TEST(TreeSum, OfFiveIsTwoPairsAndTheLast) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  float parts[] = {0x1p24F, 1, 1, 1, 1};
  tree_sum(device, parts, 5, 1);
  EXPECT_EQ(parts[0], 0x1p24F + 4);  // ((2^24 + 1) + (1 + 1)) + 1, ties to even; one by one: 2^24
}

struct Columns {
  explicit Columns(const Sizes& sizes)
      : x(numbers.floats({sizes.rows, sizes.columns})),
        out(numbers.floats({sizes.columns})),
        scratch(numbers.floats({column_sum_scratch_elements(sizes.rows, sizes.columns)})) {}

  [[nodiscard]] std::vector<double> expected(Write write) const {
    std::vector<double> sums(out.values().size());
    if (write == Write::add) sums = out.doubles();
    for (std::size_t i = 0; i < x.values().size(); ++i) sums[i % sums.size()] += x.values()[i];
    return sums;
  }
  void run(const device::Device& device, Write write) {
    column_sum(device, x.tensor(), out.tensor(), write, scratch.tensor());
  }

  test::Numbers numbers{4};
  Array<float> x, out, scratch;
};

TEST(ColumnSum, MatchesASumInDouble) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const Sizes& sizes : all_sizes) {
    for (const Write write : {Write::set, Write::add}) {
      Columns columns(sizes);
      const std::vector<double> expected = columns.expected(write);
      columns.run(device, write);
      EXPECT_TRUE(test::all_near(columns.out.values(), expected, 2e-6, 1));
    }
  }
}

TEST(ColumnSum, GivesTheSameBitsOnEveryDeviceAndInItsPortableForm) {
  for (const Sizes& sizes : all_sizes) {
    Columns first(sizes);
    const device::Device generic({.num_threads = 1, .isa = device::Isa::generic});
    first.run(generic, Write::add);
    test::for_each_device([&](const device::Device& device) {
      Columns columns(sizes);
      columns.run(device, Write::add);
      EXPECT_TRUE(test::same_bits(columns.out.values(), first.out.values()));
    });
    Columns columns(sizes);
    portable::column_sum(columns.x.tensor(), columns.out.tensor(), Write::add);
    EXPECT_TRUE(test::same_bits(columns.out.values(), first.out.values()));
  }
}

TEST(ColumnSum, AddsBlocksOf32RowsInABalancedTree) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  Columns columns({5 * 32, 1});
  const float block_values[] = {0x1p24F, 1, 1, 1, 1};
  for (std::size_t n = 0; n < 5 * 32; ++n) columns.x.values()[n] = n % 32 == 0 ? block_values[n / 32] : 0;
  columns.run(device, Write::set);
  EXPECT_EQ(columns.out.values()[0], 0x1p24F + 4);  // ((2^24 + 1) + (1 + 1)) + 1, ties to even; one by one: 2^24
}

// One of `bad` among random numbers and the largest, anywhere, is found.
template <class T>
void expect_found(T largest, const std::vector<T>& bad) {
  test::for_each_device([&](const device::Device& device) {
    for (const std::int64_t count : {1, 15, 16, 8193, 20000}) {
      test::Numbers numbers(6);
      Array<float> floats = numbers.floats({count});
      Array<T> x({count});
      cast(device, floats.tensor(), x.tensor());
      x.values()[0] = largest;
      EXPECT_TRUE(all_finite(device, x.tensor()));
      for (const T& value : bad) {
        for (const std::int64_t place : {std::int64_t{0}, count / 2, count - 1}) {
          Array<T> y = x;
          y.values()[static_cast<std::size_t>(place)] = value;
          EXPECT_FALSE(all_finite(device, y.tensor()));
        }
      }
    }
    EXPECT_TRUE(all_finite(device, Array<T>({0}).tensor()));
  });
}

TEST(AllFinite, FindsASingleNanOrInfinity) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  expect_found<float>(std::numeric_limits<float>::max(),
                      {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()});
  // Infinities and NaNs of which one bit is set at least.
  expect_found<Bf16>({0x7F7F}, {{0x7F80}, {0xFF80}, {0x7F81}, {0xFFFF}});
  expect_found<Fp16>({0x7BFF}, {{0x7C00}, {0xFC00}, {0x7C01}, {0xFFFF}});
}

}  // namespace
}  // namespace trireme::kernels
