#include "trireme/kernels/cross_entropy.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/portable/cross_entropy.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

struct Sizes {
  std::int64_t rows, vocab, padded;
};
constexpr Sizes all_sizes[] = {{1, 1, 1}, {3, 2, 16}, {5, 15, 15}, {4, 64, 65}, {7, 97, 128}, {2, 1031, 1040}};

// A chunk of logits; every third row does not count.
struct Chunk {
  explicit Chunk(const Sizes& sizes, bool the_gradient = true)
      : gradient(the_gradient),
        vocab(sizes.vocab),
        logits(numbers.floats({sizes.rows, sizes.padded}, -9, 9)),
        targets(numbers.integers({sizes.rows}, 0, static_cast<int>(sizes.vocab))),
        coefficients(numbers.floats({sizes.rows}, 0.1, 2)),
        log_probability(numbers.floats({sizes.rows})) {
    for (std::size_t n = 2; n < coefficients.values().size(); n += 3) {
      coefficients.values()[n] = 0;
      targets.values()[n] = -100;
    }
    if (!gradient) std::fill(targets.values().begin(), targets.values().end(), 0);
  }

  void run(const device::Device& device) {
    cross_entropy(device, logits.tensor(), vocab, targets.tensor(), weights(), log_probability.tensor());
  }
  void run_portable() {
    portable::cross_entropy(logits.tensor(), vocab, targets.tensor(), weights(), log_probability.tensor());
  }
  [[nodiscard]] tensor::Tensor weights() { return gradient ? coefficients.tensor() : tensor::Tensor{}; }

  test::Numbers numbers{3};
  bool gradient;
  std::int64_t vocab;
  Array<float> logits;
  Array<std::int32_t> targets;
  Array<float> coefficients, log_probability;
};

struct Expected {
  explicit Expected(Chunk& chunk) {
    const tensor::Shape shape = chunk.logits.tensor().shape;
    const auto padded = static_cast<std::size_t>(shape[1]);
    const auto vocab = static_cast<std::size_t>(chunk.vocab);
    logits = chunk.logits.doubles();
    for (std::size_t n = 0; n < static_cast<std::size_t>(shape[0]); ++n) {
      double* row = logits.data() + n * padded;
      const double weight = chunk.gradient ? chunk.coefficients.values()[n] : 1;
      const auto target = static_cast<std::size_t>(chunk.targets.values()[n]);
      double total = 0;
      for (std::size_t i = 0; i < vocab; ++i) total += std::exp(row[i]);
      log_probability.push_back(weight == 0 ? 0 : row[target] - std::log(total));
      for (std::size_t i = 0; i < padded && chunk.gradient; ++i) {
        row[i] = weight == 0 || i >= vocab ? 0 : weight * (std::exp(row[i]) / total - (i == target ? 1 : 0));
      }
    }
  }
  std::vector<double> logits, log_probability;
};

template <class Run>
void expect_every_case_near(const Run& run) {
  for (const Sizes& sizes : all_sizes) {
    for (const bool gradient : {true, false}) {
      SCOPED_TRACE(testing::Message() << sizes.rows << " x " << sizes.vocab << " of " << sizes.padded);
      Chunk chunk(sizes, gradient);
      const Expected expected(chunk);
      run(chunk);
      EXPECT_TRUE(test::all_near(chunk.log_probability.values(), expected.log_probability, 1e-6));
      EXPECT_TRUE(test::all_near(chunk.logits.values(), expected.logits, 1e-6));
    }
  }
}

TEST(CrossEntropy, MatchesTheDefinitionAtAwkwardSizes) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  expect_every_case_near([&](Chunk& chunk) { chunk.run(device); });
}

TEST(CrossEntropy, MatchesTheDefinitionInItsPortableForm) {
  const device::Device device({.num_threads = 1, .isa = device::Isa::generic});  // brings Kokkos up
  expect_every_case_near([](Chunk& chunk) { chunk.run_portable(); });
}

TEST(CrossEntropy, GivesTheSameBitsOnEveryDevice) {
  for (const Sizes& sizes : all_sizes) {
    Chunk first(sizes);
    first.run(device::Device({.num_threads = 1, .isa = device::Isa::generic}));
    test::for_each_device([&](const device::Device& device) {
      Chunk chunk(sizes);
      chunk.run(device);
      EXPECT_TRUE(test::same_bits(chunk.logits.values(), first.logits.values()));
      EXPECT_TRUE(test::same_bits(chunk.log_probability.values(), first.log_probability.values()));
    });
  }
}

TEST(CrossEntropy, GradientMatchesFiniteDifferences) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Chunk chunk({4, 11, 13});
  const auto loss = [](Chunk at) {
    double sum = 0;
    const std::vector<double> log_probability = Expected(at).log_probability;
    for (std::size_t n = 0; n < log_probability.size(); ++n) {
      sum -= at.coefficients.values()[n] * log_probability[n];
    }
    return sum;
  };
  std::vector<double> differences;
  for (std::size_t i = 0; i < chunk.logits.values().size(); ++i) {
    Chunk above = chunk;
    Chunk below = chunk;
    above.logits.values()[i] += 0x1p-7F;
    below.logits.values()[i] -= 0x1p-7F;
    differences.push_back((loss(above) - loss(below)) * 0x1p6);
  }
  chunk.run(device);
  EXPECT_TRUE(test::all_near(chunk.logits.values(), differences, 1e-3));
}

TEST(CrossEntropy, TakesLogitsWhoseExponentialsOverflow) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Array<float> logits({2, 3}, {5000, 4999, -5000, -1e30F, 0, 1e30F});
  Array<std::int32_t> targets({2}, {1, 2});
  Array<float> coefficients({2}, {1, 1});
  Array<float> log_probability({2});
  cross_entropy(device, logits.tensor(), 3, targets.tensor(), coefficients.tensor(), log_probability.tensor());
  const double certain = 1 / (1 + std::exp(-1.0));
  EXPECT_TRUE(test::all_near(logits.values(), {certain, -certain, 0, 0, 0, 0}, 1e-6));
  EXPECT_TRUE(test::all_near(log_probability.values(), {std::log(1 - certain), 0}, 1e-6));
}

TEST(CrossEntropy, ShowsANan) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Chunk chunk({1, 97, 128});
  chunk.logits.values()[40] = std::numeric_limits<float>::quiet_NaN();
  chunk.run(device);
  EXPECT_TRUE(std::isnan(chunk.log_probability.values()[0]));
}

}  // namespace
}  // namespace trireme::kernels
