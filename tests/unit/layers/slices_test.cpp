#include "trireme/layers/slices.hpp"

#include <string>

#include <gmock/gmock.h>

#include "trireme/base/error.hpp"

namespace trireme::layers {
namespace {

using testing::HasSubstr;

constexpr SliceSizes gpt2{.heads = 12, .kv_heads = 12, .mlp_width = 3072};

std::string refusal(std::int64_t requested, const SliceSizes& sizes, int tensor_size) {
  try {
    return "accepted as " + std::to_string(resolve_slices(requested, sizes, tensor_size, true));
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(CanSlice, AsksThatTheSlicesDivideHeadsAndMlpWidth) {
  EXPECT_TRUE(can_slice(gpt2, 1));
  EXPECT_TRUE(can_slice(gpt2, 3));
  EXPECT_TRUE(can_slice(gpt2, 12));
  EXPECT_FALSE(can_slice(gpt2, 8));
  EXPECT_FALSE(can_slice(gpt2, 0));
  EXPECT_FALSE(can_slice(gpt2, -1));
  EXPECT_FALSE(can_slice({.heads = 4, .kv_heads = 4, .mlp_width = 6}, 4));
}

TEST(CanSlice, LetsKeyValueHeadsBeCutOrSharedWhole) {
  const SliceSizes grouped{.heads = 24, .kv_heads = 4, .mlp_width = 48};
  EXPECT_TRUE(can_slice(grouped, 2));   // two key/value heads a slice
  EXPECT_TRUE(can_slice(grouped, 8));   // each for two slices
  EXPECT_FALSE(can_slice(grouped, 3));  // 4 heads in 3 slices
  EXPECT_FALSE(can_slice(grouped, 6));  // a head for one and a half
}

TEST(ResolveSlices, TakesTheLargestPowerOfTwoUpToEightThatFits) {
  EXPECT_EQ(resolve_slices(0, gpt2, 1, true), 4);
  EXPECT_EQ(resolve_slices(0, gpt2, 2, true), 4);
  EXPECT_EQ(resolve_slices(0, {.heads = 32, .kv_heads = 8, .mlp_width = 11008}, 1, true), 8);
  EXPECT_EQ(resolve_slices(0, {.heads = 32, .kv_heads = 1, .mlp_width = 11008}, 1, true), 8);
  EXPECT_EQ(resolve_slices(0, {.heads = 5, .kv_heads = 1, .mlp_width = 8}, 1, true), 1);
}

TEST(ResolveSlices, FallsBackToTheAxisWhereNoPowerOfTwoIsAMultipleOfIt) {
  EXPECT_EQ(resolve_slices(0, gpt2, 3, true), 3);
  EXPECT_EQ(resolve_slices(0, {.heads = 16, .kv_heads = 16, .mlp_width = 64}, 16, true), 16);
}

TEST(ResolveSlices, TakesTheAxisWithoutInvariance) {
  for (const int size : {1, 2, 3, 4, 6, 12}) EXPECT_EQ(resolve_slices(0, gpt2, size, false), size);
}

TEST(ResolveSlices, TakesALegalRequest) {
  EXPECT_EQ(resolve_slices(4, gpt2, 2, false), 4);
  EXPECT_EQ(resolve_slices(2, gpt2, 1, true), 2);
  EXPECT_EQ(resolve_slices(16, {.heads = 16, .kv_heads = 16, .mlp_width = 64}, 1, true), 16);
}

TEST(ResolveSlices, RefusesOtherRequestsWithTheLegalNumbers) {
  EXPECT_EQ(refusal(3, gpt2, 1),
            "`numerics.tensor_slices` is `3` (not a power of two; `grid.tensor` is 1, `model.heads` is 12, "
            "`model.kv_heads` 12, `model.mlp_width` 3072) use one of 0 (automatic), 1, 2, 4");
  EXPECT_THAT(refusal(2, gpt2, 4), HasSubstr("not a multiple of the tensor axis; `grid.tensor` is 4"));
  EXPECT_THAT(refusal(2, gpt2, 4), HasSubstr("use one of 0 (automatic), 4"));
  EXPECT_THAT(refusal(8, gpt2, 1), HasSubstr("does not fit the model"));
  EXPECT_THAT(refusal(-2, gpt2, 1), HasSubstr("not a power of two"));
}

TEST(ResolveSlices, RefusesAnAxisThatDoesNotFitWhateverIsRequested) {
  const std::string message =
      "`grid.tensor` is `5` (as many slices do not fit the model: `model.heads` is 12, `model.kv_heads` 12, "
      "`model.mlp_width` 3072, and `numerics.tensor_slices` is a multiple of it) use one of 1, 2, 3, 4, 6, 12";
  EXPECT_EQ(refusal(0, gpt2, 5), message);
  EXPECT_EQ(refusal(5, gpt2, 5), message);
}

}  // namespace
}  // namespace trireme::layers
