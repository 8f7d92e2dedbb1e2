// The gradient of the cross-entropy elsewhere than over the logits in fp32: in half precision, or in other memory.
#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "trireme/kernels/cast.hpp"
#include "trireme/kernels/cross_entropy.hpp"

#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using tensor::Tensor;
using test::Array;

constexpr std::int64_t rows = 33;
constexpr std::int64_t first_id = 5;

struct Sizes {
  std::int64_t vocab, padded;
};
constexpr Sizes all_sizes[] = {{1, 1}, {16, 16}, {37, 48}, {97, 97}, {1031, 1040}, {0, 16}};

// A slice of random logits after cross_entropy_statistics() and cross_entropy_combine().
struct Slice {
  Slice(const device::Device& device, const Sizes& sizes, float largest_coefficient)
      : vocab(sizes.vocab),
        logits(numbers.floats({rows, sizes.padded}, -8, 8)),
        targets(numbers.integers({rows}, first_id, static_cast<int>(first_id + vocab + 4))),  // some in another slice
        coefficients(numbers.floats({rows}, 0, largest_coefficient)),
        statistics({1, rows, 3}),
        normalizer({rows, 2}) {
    coefficients.values()[7] = 0;
    Array<float> log_probability({rows});
    cross_entropy_statistics(device, logits.tensor(), vocab, first_id, targets.tensor(), of_slice());
    cross_entropy_combine(device, statistics.tensor(), coefficients.tensor(), log_probability.tensor(),
                          normalizer.tensor());
  }
  [[nodiscard]] Tensor of_slice() { return statistics.tensor().reshaped({rows, 3}); }
  void differentiate(const device::Device& device, const Tensor& gradient) {
    cross_entropy_gradient(device, logits.tensor(), vocab, first_id, targets.tensor(), coefficients.tensor(),
                           of_slice(), normalizer.tensor(), gradient);
  }

  test::Numbers numbers{10};
  std::int64_t vocab;
  Array<float> logits;
  Array<std::int32_t> targets;
  Array<float> coefficients, statistics, normalizer;
};

// The first P columns of each row of the gradient must be those of fp32 in place, rounded.
template <class T>
void expect_rounded(const device::Device& device, const Sizes& sizes, float largest_coefficient,
                    const std::function<Tensor(Slice&)>& place_of) {
  SCOPED_TRACE(testing::Message() << sizes.vocab << " of " << sizes.padded);
  Slice in_place(device, sizes, largest_coefficient);
  in_place.differentiate(device, in_place.logits.tensor());
  Array<T> expected(in_place.logits.tensor().shape);
  cast(device, in_place.logits.tensor(), expected.tensor());
  Slice slice(device, sizes, largest_coefficient);
  const Tensor gradient = place_of(slice);
  slice.differentiate(device, gradient);
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* of_row = gradient.as<T>() + row * gradient.shape.columns();
    EXPECT_EQ(std::memcmp(of_row, expected.values().data() + row * sizes.padded,
                          sizeof(T) * static_cast<std::size_t>(sizes.padded)),
              0)
        << row;
  }
}

template <class Half>
void expect_rounded_over_the_logits(float largest_coefficient) {
  test::for_each_device([&](const device::Device& device) {
    for (const Sizes& sizes : all_sizes) {
      expect_rounded<Half>(device, sizes, largest_coefficient, [&](Slice& slice) {
        return Tensor{.data = slice.logits.tensor().data, .shape = {rows, 2 * sizes.padded}, .dtype = dtype_of<Half>};
      });
    }
  });
}

template <class T>
void expect_rounded_elsewhere() {
  test::for_each_device([&](const device::Device& device) {
    for (const Sizes& sizes : all_sizes) {
      for (const std::int64_t more : {0, 3, 16}) {
        Array<T> gradient({rows, sizes.padded + more});
        std::memset(gradient.tensor().data, 0x55, gradient.tensor().bytes());
        expect_rounded<T>(device, sizes, 1, [&](Slice&) { return gradient.tensor(); });
      }
    }
  });
}

TEST(CrossEntropyGradient, IsRoundedOnceOverItsRowsOfLogits) {
  expect_rounded_over_the_logits<Bf16>(1);
  expect_rounded_over_the_logits<Fp16>(1);
}

TEST(CrossEntropyGradient, GoesToOtherMemoryOfAnyTypeAndRowLength) {
  expect_rounded_elsewhere<float>();
  expect_rounded_elsewhere<Bf16>();
  expect_rounded_elsewhere<Fp16>();
}

TEST(CrossEntropyGradient, IsInfiniteWhereFp16CannotHoldIt) {
  expect_rounded_over_the_logits<Fp16>(1e7F);
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Slice slice(device, {97, 97}, 1e7F);
  Array<Fp16> gradient({rows, 97});
  slice.differentiate(device, gradient.tensor());
  const auto target = static_cast<std::size_t>(slice.targets.values()[0] - first_id);
  EXPECT_EQ(gradient.values()[target].bits, 0xFC00);
}

}  // namespace
}  // namespace trireme::kernels
