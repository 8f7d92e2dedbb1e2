#include "trireme/kernels/embedding.hpp"

#include <gtest/gtest.h>

#include "kernels/portable/embedding.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

constexpr std::int64_t vocab = 11;
constexpr std::int64_t context = 40;

struct Tables {
  Tables(std::int64_t the_tokens, std::int64_t the_width)
      : tokens(the_tokens),
        width(the_width),
        ids(numbers.integers({tokens}, -2, vocab + 2)),  // some are other ranks'
        positions(numbers.integers({tokens}, 0, context)),
        token_table(numbers.floats({vocab, width})),
        position_table(numbers.floats({context, width})),
        y(numbers.floats({tokens, width})),
        dy(numbers.floats({tokens, width})),
        gradient(numbers.floats({vocab, width})) {}

  // One addition of two floats a value: the exact bits are known.
  [[nodiscard]] std::vector<float> expected_y(bool with_positions) const {
    std::vector<float> result;
    for (std::int64_t i = 0; i < tokens * width; ++i) {
      const auto n = static_cast<std::size_t>(i / width);
      const auto k = i % width;
      const std::int64_t id = ids.values()[n];
      float value = id >= 0 && id < vocab ? token_table.values()[static_cast<std::size_t>(id * width + k)] : 0.0F;
      if (with_positions) value += position_table.values()[static_cast<std::size_t>(positions.values()[n] * width + k)];
      result.push_back(value);
    }
    return result;
  }

  // Token after token, in float: this order is the contract.
  [[nodiscard]] std::vector<float> expected_gradient() const {
    std::vector<float> result = gradient.values();
    for (std::int64_t i = 0; i < tokens * width; ++i) {
      const std::int64_t id = ids.values()[static_cast<std::size_t>(i / width)];
      if (id < 0 || id >= vocab) continue;
      result[static_cast<std::size_t>(id * width + i % width)] += dy.values()[static_cast<std::size_t>(i)];
    }
    return result;
  }

  test::Numbers numbers{9};
  std::int64_t tokens;
  std::int64_t width;
  Array<std::int32_t> ids, positions;
  Array<float> token_table, position_table, y, dy, gradient;
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

TEST(Embedding, ReadsRowsOnEveryDevice) {
  test::for_each_device([](const device::Device& device) {
    for_each_size([&](std::int64_t tokens, std::int64_t width) {
      Tables tables(tokens, width);
      embedding_forward(device, tables.ids.tensor(), tables.positions.tensor(), tables.token_table.tensor(),
                        tables.position_table.tensor(), tables.y.tensor());
      EXPECT_TRUE(test::same_bits(tables.y.values(), tables.expected_y(true)));
      embedding_forward(device, tables.ids.tensor(), {}, tables.token_table.tensor(), {}, tables.y.tensor());
      EXPECT_TRUE(test::same_bits(tables.y.values(), tables.expected_y(false)));
    });
  });
}

TEST(Embedding, AddsGradientsInTheOrderOfTheTokensOnEveryDevice) {
  test::for_each_device([](const device::Device& device) {
    for_each_size([&](std::int64_t tokens, std::int64_t width) {
      Tables tables(tokens, width);
      const std::vector<float> expected = tables.expected_gradient();
      embedding_backward(device, tables.ids.tensor(), tables.dy.tensor(), tables.gradient.tensor());
      EXPECT_TRUE(test::same_bits(tables.gradient.values(), expected));
    });
  });
}

TEST(Embedding, HasAPortableFormOfEqualBits) {
  const device::Device device({.num_threads = 1, .isa = device::Isa::generic});  // brings Kokkos up
  for_each_size([](std::int64_t tokens, std::int64_t width) {
    Tables tables(tokens, width);
    const std::vector<float> expected = tables.expected_gradient();
    portable::embedding_forward<float>({.tokens = tokens,
                                        .width = width,
                                        .vocab = vocab,
                                        .ids = tables.ids.values().data(),
                                        .positions = tables.positions.values().data(),
                                        .token_table = tables.token_table.values().data(),
                                        .position_table = tables.position_table.values().data(),
                                        .y = tables.y.values().data()});
    EXPECT_TRUE(test::same_bits(tables.y.values(), tables.expected_y(true)));
    portable::embedding_backward<float>({.tokens = tokens,
                                         .width = width,
                                         .vocab = vocab,
                                         .ids = tables.ids.values().data(),
                                         .dy = tables.dy.values().data(),
                                         .gradient = tables.gradient.values().data()});
    EXPECT_TRUE(test::same_bits(tables.gradient.values(), expected));
  });
}

}  // namespace
}  // namespace trireme::kernels
