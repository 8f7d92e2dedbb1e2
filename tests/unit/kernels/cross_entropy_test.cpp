#include "trireme/kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/portable/cross_entropy.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Sizes {
  std::int64_t rows, vocab, slices;
};
// Slices of ceil(vocab / slices) tokens: the last are shorter or empty.
constexpr Sizes all_sizes[] = {{0, 7, 2},    {1, 1, 1},    {3, 1, 4},   {3, 2, 1},   {5, 5, 4},
                               {17, 15, 3},  {4, 64, 2},   {7, 97, 8},  {33, 97, 1}, {2, 1031, 1},
                               {2, 1031, 2}, {3, 1031, 5}, {300, 13, 4}};

// One slice of a chunk of logits, its rows padded with numbers that mean nothing.
struct Slice {
  std::int64_t first_id, vocab;
  Array<float> logits;
};

// A chunk of logits in slices; every third row does not count.
struct Chunk {
  explicit Chunk(const Sizes& the_sizes)
      : sizes(the_sizes),
        logits(numbers.floats({sizes.rows, sizes.vocab}, -9, 9)),
        targets(numbers.integers({sizes.rows}, 0, static_cast<int>(sizes.vocab))),
        coefficients(numbers.floats({sizes.rows}, 0.1, 2)),
        statistics({sizes.slices, sizes.rows, 3}),
        log_probability(numbers.floats({sizes.rows})),
        normalizer(numbers.floats({sizes.rows, 2})) {
    for (std::size_t n = 2; n < coefficients.values().size(); n += 3) {
      coefficients.values()[n] = 0;
      targets.values()[n] = -100;
    }
  }

  void cut() {
    const std::int64_t width = (sizes.vocab + sizes.slices - 1) / sizes.slices;
    for (std::int64_t slice = 0; slice < sizes.slices; ++slice) {
      const std::int64_t first = std::min(slice * width, sizes.vocab);
      const std::int64_t vocab = std::min(width, sizes.vocab - first);
      slices.push_back({first, vocab, numbers.floats({sizes.rows, vocab + slice % 2 * 7})});
      const std::int64_t padded = vocab + slice % 2 * 7;
      for (std::int64_t n = 0; n < sizes.rows; ++n) {
        std::copy_n(logits.values().begin() + n * sizes.vocab + first, vocab,
                    slices.back().logits.values().begin() + n * padded);
      }
    }
  }

  // As three functions of a whole chunk that know the device, or do not.
  template <class Statistics, class Combine, class Gradient>
  void run(bool with_gradient, const Statistics& of_slice, const Combine& combine, const Gradient& gradient) {
    cut();
    for (std::size_t slice = 0; slice < slices.size(); ++slice) of_slice(slices[slice], statistics_of(slice));
    combine(with_gradient ? coefficients.tensor() : tensor::Tensor{});
    for (std::size_t slice = 0; slice < slices.size() && with_gradient; ++slice) {
      gradient(slices[slice], statistics_of(slice));
    }
  }

  void run(const device::Device& device, bool with_gradient = true) {
    run(
        with_gradient,
        [&](Slice& slice, const tensor::Tensor& of_slice) {
          cross_entropy_statistics(device, slice.logits.tensor(), slice.vocab, slice.first_id, targets.tensor(),
                                   of_slice);
        },
        [&](const tensor::Tensor& weights) {
          cross_entropy_combine(device, statistics.tensor(), weights, log_probability.tensor(), normalizer.tensor());
        },
        [&](Slice& slice, const tensor::Tensor& of_slice) {
          cross_entropy_gradient(device, slice.logits.tensor(), slice.vocab, slice.first_id, targets.tensor(),
                                 coefficients.tensor(), of_slice, normalizer.tensor(), slice.logits.tensor());
        });
  }

  void run_portable(bool with_gradient = true) {
    const auto arguments = [&](Slice& slice, const tensor::Tensor& of_slice) {
      return CrossEntropySlice{.rows = sizes.rows,
                               .first_id = slice.first_id,
                               .vocab = slice.vocab,
                               .padded = slice.logits.tensor().shape.columns(),
                               .logits = slice.logits.values().data(),
                               .targets = targets.values().data(),
                               .statistics = of_slice.as<float>()};
    };
    run(
        with_gradient,
        [&](Slice& slice, const tensor::Tensor& of_slice) {
          portable::cross_entropy_statistics(arguments(slice, of_slice));
        },
        [&](const tensor::Tensor& weights) {
          portable::cross_entropy_combine({.slices = sizes.slices,
                                           .rows = sizes.rows,
                                           .statistics = statistics.values().data(),
                                           .coefficients = weights.empty() ? nullptr : weights.as<float>(),
                                           .log_probability = log_probability.values().data(),
                                           .normalizer = normalizer.values().data()});
        },
        [&](Slice& slice, const tensor::Tensor& of_slice) {
          portable::cross_entropy_gradient<float>({.slice = arguments(slice, of_slice),
                                                   .coefficients = coefficients.values().data(),
                                                   .normalizer = normalizer.values().data(),
                                                   .gradient = slice.logits.values().data(),
                                                   .stride = slice.logits.tensor().shape.columns()});
        });
  }

  [[nodiscard]] tensor::Tensor statistics_of(std::size_t slice) {
    return statistics.tensor().rows(static_cast<std::int64_t>(slice), 1).reshaped({sizes.rows, 3});
  }

  // The slices side by side, row after row; the padding behind them where asked for.
  [[nodiscard]] std::vector<float> joined(bool with_padding = false) {
    std::vector<float> result;
    for (std::int64_t n = 0; n < sizes.rows; ++n) {
      for (Slice& slice : slices) {
        const std::int64_t padded = slice.logits.tensor().shape.columns();
        const auto row = slice.logits.values().begin() + n * padded;
        result.insert(result.end(), row, row + (with_padding ? padded : slice.vocab));
      }
    }
    return result;
  }

  test::Numbers numbers{3};
  Sizes sizes;
  Array<float> logits;
  Array<std::int32_t> targets;
  Array<float> coefficients, statistics, log_probability, normalizer;
  std::vector<Slice> slices;
};

struct Expected {
  Expected(const Chunk& chunk, bool with_gradient) {
    const auto vocab = static_cast<std::size_t>(chunk.sizes.vocab);
    gradient = chunk.logits.doubles();
    for (std::size_t n = 0; n < static_cast<std::size_t>(chunk.sizes.rows); ++n) {
      double* row = gradient.data() + n * vocab;
      const double weight = with_gradient ? chunk.coefficients.values()[n] : 1;
      const auto target = static_cast<std::size_t>(chunk.targets.values()[n]);
      const double largest = *std::max_element(row, row + vocab);
      double total = 0;
      for (std::size_t i = 0; i < vocab; ++i) total += std::exp(row[i] - largest);
      log_probability.push_back(weight == 0 ? 0 : row[target] - largest - std::log(total));
      for (std::size_t i = 0; i < vocab; ++i) {
        row[i] = weight == 0 ? 0 : weight * (std::exp(row[i] - largest) / total - (i == target ? 1 : 0));
      }
    }
  }
  std::vector<double> gradient, log_probability;
};

template <class Run>
void expect_every_case_near(const Run& run) {
  for (const Sizes& sizes : all_sizes) {
    for (const bool with_gradient : {true, false}) {
      SCOPED_TRACE(testing::Message() << sizes.rows << " x " << sizes.vocab << " in " << sizes.slices);
      Chunk chunk(sizes);
      if (!with_gradient) std::fill(chunk.targets.values().begin(), chunk.targets.values().end(), 0);
      const Expected expected(chunk, with_gradient);
      run(chunk, with_gradient);
      EXPECT_TRUE(test::all_near(chunk.log_probability.values(), expected.log_probability, 1e-6));
      if (!with_gradient) continue;
      EXPECT_TRUE(test::all_near(chunk.joined(), expected.gradient, 1e-6));
      // The padding is zero: nothing is added to the sum of all magnitudes.
      const auto magnitude = [](const std::vector<float>& values) {
        double sum = 0;
        for (const float value : values) sum += std::abs(static_cast<double>(value));
        return sum;
      };
      EXPECT_EQ(magnitude(chunk.joined(true)), magnitude(chunk.joined(false)));
    }
  }
}

TEST(CrossEntropy, MatchesTheDefinitionInAnyNumberOfSlices) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  expect_every_case_near([&](Chunk& chunk, bool with_gradient) { chunk.run(device, with_gradient); });
}

TEST(CrossEntropy, MatchesTheDefinitionInItsPortableForm) {
  const device::Device device({.num_threads = 1, .isa = device::Isa::generic});  // brings Kokkos up
  expect_every_case_near([](Chunk& chunk, bool with_gradient) { chunk.run_portable(with_gradient); });
}

TEST(CrossEntropy, GivesTheSameBitsOnEveryDevice) {
  for (const Sizes& sizes : all_sizes) {
    Chunk first(sizes);
    first.run(device::Device({.num_threads = 1, .isa = device::Isa::generic}));
    test::for_each_device([&](const device::Device& device) {
      Chunk chunk(sizes);
      chunk.run(device);
      EXPECT_TRUE(test::same_bits(chunk.joined(true), first.joined(true)));
      EXPECT_TRUE(test::same_bits(chunk.statistics.values(), first.statistics.values()));
      EXPECT_TRUE(test::same_bits(chunk.log_probability.values(), first.log_probability.values()));
      EXPECT_TRUE(test::same_bits(chunk.normalizer.values(), first.normalizer.values()));
    });
  }
}

TEST(CrossEntropy, OfARowDoesNotDependOnItsNeighbours) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  Chunk all({37, 97, 4});
  all.run(device);
  for (std::int64_t n = 0; n < 37; n += 5) {
    const auto row = static_cast<std::size_t>(n);
    Chunk alone({1, 97, 4});
    std::copy_n(all.logits.values().begin() + n * 97, 97, alone.logits.values().begin());
    alone.targets.values()[0] = all.targets.values()[row];
    alone.coefficients.values()[0] = all.coefficients.values()[row];
    alone.run(device);
    EXPECT_EQ(alone.log_probability.values()[0], all.log_probability.values()[row]);
    const std::vector<float> gradient = all.joined();
    EXPECT_TRUE(test::same_bits(alone.joined(), {gradient.begin() + n * 97, gradient.begin() + (n + 1) * 97}));
  }
}

TEST(CrossEntropy, StatisticsAreThoseThatTheHeaderNames) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Array<float> logits({3, 4}, {1, 3, 2, 9, -1, -1, -2, 9, -infinity, -infinity, -infinity, 9});
  Array<std::int32_t> targets({3}, {11, 13, 9});
  Array<float> statistics({3, 3});
  cross_entropy_statistics(device, logits.tensor(), 3, 10, targets.tensor(), statistics.tensor());
  const double e = std::exp(-1.0);
  EXPECT_TRUE(test::all_near({statistics.values().begin(), statistics.values().begin() + 6},
                             {3, e * e + 1 + e, 3, -1, 2 + e, 0}, 1e-7));
  EXPECT_TRUE(test::all_near({logits.values().begin(), logits.values().begin() + 3}, {e * e, 1, e}, 1e-7));
  EXPECT_TRUE(test::all_near({logits.values().begin() + 4, logits.values().begin() + 7}, {1, 1, e}, 1e-7));
  const std::vector<float> of_nothing{-infinity, 0, 0};
  EXPECT_TRUE(test::same_bits({statistics.values().begin() + 6, statistics.values().end()}, of_nothing));
  cross_entropy_statistics(device, logits.tensor(), 0, 10, targets.tensor(), statistics.tensor());
  EXPECT_TRUE(test::same_bits({statistics.values().begin(), statistics.values().begin() + 3}, of_nothing));
}

TEST(CrossEntropy, AddsSlicesInTheBalancedTree) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Array<float> statistics({5, 1, 3}, {0, 0x1p24F, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0});
  Array<float> log_probability({1});
  Array<float> normalizer({1, 2});
  cross_entropy_combine(device, statistics.tensor(), {}, log_probability.tensor(), normalizer.tensor());
  EXPECT_EQ(normalizer.values()[1], 0x1p24F + 4);  // ((2^24 + 1) + (1 + 1)) + 1, ties to even; one by one: 2^24
}

TEST(CrossEntropy, GradientMatchesFiniteDifferences) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Chunk chunk({4, 11, 3});
  const auto loss = [](const Chunk& at) {
    double sum = 0;
    const std::vector<double> log_probability = Expected(at, true).log_probability;
    for (std::size_t n = 0; n < log_probability.size(); ++n) {
      sum -= at.coefficients.values()[n] * log_probability[n];
    }
    return sum;
  };
  std::vector<double> differences;
  for (float& logit : chunk.logits.values()) {
    const float before = logit;
    logit = before + 0x1p-7F;
    const double above = loss(chunk);
    logit = before - 0x1p-7F;
    const double below = loss(chunk);
    logit = before;
    differences.push_back((above - below) * 0x1p6);
  }
  chunk.run(device);
  EXPECT_TRUE(test::all_near(chunk.joined(), differences, 1e-3));
}

TEST(CrossEntropy, TakesLogitsWhoseExponentialsOverflow) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  for (const std::int64_t slices : {1, 2, 3}) {
    Chunk chunk({2, 3, slices});
    chunk.logits.values() = {5000, 4999, -5000, -1e30F, 0, 1e30F};
    chunk.targets.values() = {1, 2};
    chunk.coefficients.values() = {1, 1};
    chunk.run(device);
    const double certain = 1 / (1 + std::exp(-1.0));
    EXPECT_TRUE(test::all_near(chunk.joined(), {certain, -certain, 0, 0, 0, 0}, 1e-6));
    EXPECT_TRUE(test::all_near(chunk.log_probability.values(), {std::log(1 - certain), 0}, 1e-6));
  }
}

TEST(CrossEntropy, TakesLogitsOfMinusInfinityAsImpossible) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  for (const std::int64_t slices : {1, 2, 4}) {
    Chunk chunk({1, 4, slices});
    chunk.logits.values() = {0, 0, -infinity, -infinity};
    chunk.targets.values() = {1};
    chunk.coefficients.values() = {1};
    chunk.run(device);
    EXPECT_TRUE(test::all_near(chunk.joined(), {0.5, -0.5, 0, 0}, 1e-7));
    EXPECT_TRUE(test::all_near(chunk.log_probability.values(), {std::log(0.5)}, 1e-7));
  }
}

TEST(CrossEntropy, ShowsANanAndAnInfinityOfAnySlice) {
  const auto expect_nan = [](const auto& run) {
    for (const float bad : {nan, -nan, infinity}) {
      for (const std::int64_t slices : {1, 3, 4}) {
        for (const std::size_t place : {0U, 40U, 96U}) {
          Chunk chunk({1, 97, slices});
          chunk.logits.values()[place] = bad;
          run(chunk);
          SCOPED_TRACE(testing::Message() << bad << " at " << place << " in " << slices);
          EXPECT_TRUE(std::isnan(chunk.log_probability.values()[0]));
          for (const float value : chunk.joined()) EXPECT_TRUE(std::isnan(value));
        }
      }
    }
    Chunk nothing_possible({1, 5, 4});
    std::fill_n(nothing_possible.logits.values().begin(), 5, -infinity);
    run(nothing_possible);
    EXPECT_TRUE(std::isnan(nothing_possible.log_probability.values()[0]));
  };
  test::for_each_device([&](const device::Device& device) { expect_nan([&](Chunk& chunk) { chunk.run(device); }); });
  expect_nan([](Chunk& chunk) { chunk.run_portable(); });
}

TEST(CrossEntropy, OfARowThatDoesNotCountIsZeroWhateverItsLogits) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Chunk chunk({3, 20, 2});
  chunk.logits.values()[2 * 20 + 3] = nan;
  chunk.run(device);
  const std::vector<float> gradient = chunk.joined();
  EXPECT_EQ(chunk.log_probability.values()[2], 0);
  EXPECT_TRUE(test::same_bits({gradient.begin() + 40, gradient.end()}, std::vector<float>(20)));
}

}  // namespace
}  // namespace trireme::kernels
