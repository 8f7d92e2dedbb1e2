#include "trireme/kernels/embedding.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "kernels/portable/embedding.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

// Tokens 4 .. 14 of a larger vocabulary.
constexpr std::int64_t first_id = 4;
constexpr std::int64_t vocab = 11;

struct Tables {
  Tables(std::int64_t the_tokens, std::int64_t the_width)
      : tokens(the_tokens),
        width(the_width),
        ids(numbers.integers({tokens}, first_id - 3, first_id + vocab + 3)),  // some are other tables'
        table(numbers.floats({vocab, width})),
        y(numbers.floats({tokens, width})),
        dy(numbers.floats({tokens, width})),
        gradient(numbers.floats({vocab, width})) {}

  // One addition of two floats a value: the exact bits are known.
  [[nodiscard]] std::vector<float> expected_y(Write write) const {
    std::vector<float> result = y.values();
    for (std::int64_t i = 0; i < tokens * width; ++i) {
      float& value = result[static_cast<std::size_t>(i)];
      const std::int64_t row = ids.values()[static_cast<std::size_t>(i / width)] - first_id;
      if (write == Write::set) value = 0;
      if (row < 0 || row >= vocab) continue;
      value += table.values()[static_cast<std::size_t>(row * width + i % width)];
    }
    return result;
  }

  // Token after token, in float: this order is the contract.
  [[nodiscard]] std::vector<float> expected_gradient() const {
    std::vector<float> result = gradient.values();
    for (std::int64_t i = 0; i < tokens * width; ++i) {
      const std::int64_t row = ids.values()[static_cast<std::size_t>(i / width)] - first_id;
      if (row < 0 || row >= vocab) continue;
      result[static_cast<std::size_t>(row * width + i % width)] += dy.values()[static_cast<std::size_t>(i)];
    }
    return result;
  }

  test::Numbers numbers{9};
  std::int64_t tokens;
  std::int64_t width;
  Array<std::int32_t> ids;
  Array<float> table, y, dy, gradient;
};

template <class Check>
void for_each_size(const Check& check) {
  for (const std::int64_t tokens : {0, 1, 31, 33, 97}) {
    for (const std::int64_t width : {1, 7, 32, 33, 100}) {
      SCOPED_TRACE(testing::Message() << tokens << " x " << width);
      check(tokens, width);
    }
  }
}

TEST(Embedding, SetsOrAddsRowsOnEveryDevice) {
  test::for_each_device([](const device::Device& device) {
    for_each_size([&](std::int64_t tokens, std::int64_t width) {
      for (const Write write : {Write::set, Write::add}) {
        Tables tables(tokens, width);
        const std::vector<float> expected = tables.expected_y(write);
        embedding_forward(device, tables.ids.tensor(), first_id, tables.table.tensor(), tables.y.tensor(), write);
        EXPECT_TRUE(test::same_bits(tables.y.values(), expected));
      }
    });
  });
}

TEST(Embedding, AddsARowInHalfPrecisionWithOneRounding) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Array<std::int32_t> ids({2}, {0, 7});
  Array<Bf16> table({1, 17}, std::vector<Bf16>(17, Bf16{0x3F80}));  // 1
  Array<Bf16> y({2, 17}, std::vector<Bf16>(34, Bf16{0x3B80}));      // 2^-8
  embedding_forward(device, ids.tensor(), 0, table.tensor(), y.tensor(), Write::add);
  std::vector<Bf16> expected(34, Bf16{0x3B80});
  std::fill_n(expected.begin(), 17, Bf16{0x3F80});  // 1 + 2^-8 is half way to the next number: ties to even
  EXPECT_TRUE(test::same_bits(y.values(), expected));
}

TEST(Embedding, OfATableWithoutRowsIsZeroOrNothing) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  Array<std::int32_t> ids({3}, {0, 5, 6});
  Array<float> table({0, 7});
  Array<float> y({3, 7}, std::vector<float>(21, 2.0F));
  embedding_forward(device, ids.tensor(), 5, table.tensor(), y.tensor(), Write::add);
  EXPECT_EQ(y.values(), std::vector<float>(21, 2.0F));
  embedding_backward(device, ids.tensor(), 5, y.tensor(), table.tensor());
  embedding_forward(device, ids.tensor(), 5, table.tensor(), y.tensor(), Write::set);
  EXPECT_EQ(y.values(), std::vector<float>(21));
}

TEST(Embedding, OfSlicesOfATableAddsUpToTheWhole) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  Tables tables(97, 33);
  const std::vector<float> expected = tables.expected_y(Write::set);
  std::vector<float> expected_gradient = tables.expected_gradient();
  for (std::int64_t begin = 0; begin < vocab; begin += 4) {
    const std::int64_t count = std::min<std::int64_t>(4, vocab - begin);
    embedding_forward(device, tables.ids.tensor(), first_id + begin, tables.table.tensor().rows(begin, count),
                      tables.y.tensor(), begin == 0 ? Write::set : Write::add);
    embedding_backward(device, tables.ids.tensor(), first_id + begin, tables.dy.tensor(),
                       tables.gradient.tensor().rows(begin, count));
  }
  EXPECT_TRUE(test::same_bits(tables.y.values(), expected));
  EXPECT_TRUE(test::same_bits(tables.gradient.values(), expected_gradient));
}

TEST(Embedding, AddsGradientsInTheOrderOfTheTokensOnEveryDevice) {
  test::for_each_device([](const device::Device& device) {
    for_each_size([&](std::int64_t tokens, std::int64_t width) {
      Tables tables(tokens, width);
      const std::vector<float> expected = tables.expected_gradient();
      embedding_backward(device, tables.ids.tensor(), first_id, tables.dy.tensor(), tables.gradient.tensor());
      EXPECT_TRUE(test::same_bits(tables.gradient.values(), expected));
    });
  });
}

TEST(Embedding, HasAPortableFormOfEqualBits) {
  const device::Device device({.num_threads = 1, .isa = device::Isa::generic});  // brings Kokkos up
  for_each_size([](std::int64_t tokens, std::int64_t width) {
    for (const Write write : {Write::set, Write::add}) {
      Tables tables(tokens, width);
      const std::vector<float> expected_y = tables.expected_y(write);
      const std::vector<float> expected_gradient = tables.expected_gradient();
      portable::embedding_forward<float, float>({.tokens = tokens,
                                                 .width = width,
                                                 .first_id = first_id,
                                                 .vocab = vocab,
                                                 .ids = tables.ids.values().data(),
                                                 .table = tables.table.values().data(),
                                                 .y = tables.y.values().data(),
                                                 .adds = write == Write::add});
      EXPECT_TRUE(test::same_bits(tables.y.values(), expected_y));
      portable::embedding_backward<float>({.tokens = tokens,
                                           .width = width,
                                           .first_id = first_id,
                                           .vocab = vocab,
                                           .ids = tables.ids.values().data(),
                                           .dy = tables.dy.values().data(),
                                           .gradient = tables.gradient.values().data()});
      EXPECT_TRUE(test::same_bits(tables.gradient.values(), expected_gradient));
    }
  });
}

}  // namespace
}  // namespace trireme::kernels
