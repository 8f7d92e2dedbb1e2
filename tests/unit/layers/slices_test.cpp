#include "trireme/layers/slices.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

namespace trireme::layers {
namespace {

using ::testing::HasSubstr;

constexpr SliceSizes gpt2{.heads = 12, .kv_heads = 12, .mlp_width = 3072};
constexpr SliceSizes llama{.heads = 32, .kv_heads = 8, .mlp_width = 14336};

std::string refusal(std::int64_t requested, const SliceSizes& sizes, int tensor_size) {
  try {
    static_cast<void>(resolve_slices(requested, sizes, tensor_size, true));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Slices, DivideHeadsAndMlpWidthAndFitTheKeyValueHeads) {
  EXPECT_TRUE(can_slice(gpt2, 1));
  EXPECT_TRUE(can_slice(gpt2, 3));
  EXPECT_TRUE(can_slice(gpt2, 12));
  EXPECT_FALSE(can_slice(gpt2, 8)) << "does not divide 12 heads";
  EXPECT_FALSE(can_slice(gpt2, 0));
  EXPECT_TRUE(can_slice(llama, 16)) << "two slices a key/value head";
  EXPECT_FALSE(can_slice({.heads = 12, .kv_heads = 6, .mlp_width = 12}, 4)) << "6 and 4";
  EXPECT_FALSE(can_slice({.heads = 4, .kv_heads = 4, .mlp_width = 6}, 4)) << "6 columns";
}

TEST(Slices, AreAsManyAsRanksWhenTheGridMayBeSeen) {
  EXPECT_EQ(resolve_slices(0, gpt2, 1, false), 1);
  EXPECT_EQ(resolve_slices(0, gpt2, 3, false), 3);
  EXPECT_EQ(resolve_slices(0, llama, 4, false), 4);
}

TEST(Slices, AreTheLargestLegalPowerUpTo8WhenItMayNot) {
  EXPECT_EQ(resolve_slices(0, gpt2, 1, true), 4);
  EXPECT_EQ(resolve_slices(0, gpt2, 2, true), 4);
  EXPECT_EQ(resolve_slices(0, llama, 1, true), 8);
  EXPECT_EQ(resolve_slices(0, llama, 8, true), 8);
  EXPECT_EQ(resolve_slices(0, llama, 16, true), 16) << "no smaller number serves 16 ranks";
  EXPECT_EQ(resolve_slices(0, gpt2, 3, true), 3) << "no power of two is a multiple of 3";
}

TEST(Slices, AreAsRequestedWhereThatIsLegal) {
  EXPECT_EQ(resolve_slices(2, gpt2, 1, true), 2);
  EXPECT_EQ(resolve_slices(16, llama, 4, false), 16);
}

TEST(Slices, AnIllegalRequestNamesEveryKeyAndTheLegalNumbers) {
  for (const std::int64_t requested : {-1, 3, 8, 1}) {
    const std::string text = refusal(requested, gpt2, 2);
    EXPECT_THAT(text, HasSubstr("`numerics.tensor_slices` is `" + std::to_string(requested) + "`"));
    for (const char* part : {"`grid.tensor` is 2", "`model.heads` is 12", "`model.kv_heads` 12",
                             "`model.mlp_width` 3072", "use one of 0 (automatic), 2, 4"}) {
      EXPECT_THAT(text, HasSubstr(part));
    }
  }
  EXPECT_THAT(refusal(3, gpt2, 2), HasSubstr("not a power of two"));
  EXPECT_THAT(refusal(8, gpt2, 2), HasSubstr("does not fit the model"));
  EXPECT_THAT(refusal(1, gpt2, 2), HasSubstr("not a multiple of the tensor axis"));
}

TEST(Slices, AGridThatTheModelCannotFillNamesTheLegalOnes) {
  const std::string text = refusal(0, gpt2, 5);
  EXPECT_THAT(text, HasSubstr("`grid.tensor` is `5`"));
  EXPECT_THAT(text, HasSubstr("`numerics.tensor_slices`"));
  EXPECT_THAT(text, HasSubstr("use one of 1, 2, 3, 4, 6, 12"));
}

}  // namespace
}  // namespace trireme::layers
