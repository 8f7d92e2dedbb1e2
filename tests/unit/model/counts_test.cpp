#include "trireme/model/counts.hpp"

#include <gtest/gtest.h>

namespace trireme::model {
namespace {

ModelOptions gpt2(std::int64_t layers, std::int64_t width, std::int64_t heads) {
  return {.layers = layers, .width = width, .heads = heads, .context = 1024, .vocab = 50257};
}

// Sizes published with GPT-2's weights (Radford et al. 2019), as the released checkpoints hold them.
TEST(ParameterCount, IsThatOfThePublishedGpt2Models) {
  EXPECT_EQ(parameter_count(gpt2(12, 768, 12)), 124439808);
  EXPECT_EQ(parameter_count(gpt2(24, 1024, 16)), 354823168);
  EXPECT_EQ(parameter_count(gpt2(36, 1280, 20)), 774030080);
  EXPECT_EQ(parameter_count(gpt2(48, 1600, 25)), 1557611200);
}

// Llama 2 7B and Llama 3 8B, as their published checkpoints hold them.
TEST(ParameterCount, IsThatOfThePublishedLlamaModels) {
  ModelOptions llama{.layers = 32,
                     .width = 4096,
                     .heads = 32,
                     .mlp_width = 11008,
                     .context = 4096,
                     .vocab = 32000,
                     .norm = Norm::rmsnorm,
                     .activation = Activation::swiglu,
                     .position = Position::rotary,
                     .bias = Bias::none,
                     .tied_embeddings = false};
  EXPECT_EQ(parameter_count(llama), 6738415616);
  llama.kv_heads = 8;
  llama.mlp_width = 14336;
  llama.vocab = 128256;
  EXPECT_EQ(parameter_count(llama), 8030261248);
}

TEST(FlopPerToken, IsTheFormulaForGpt2Sizes) {
  const double expected = 6.0 * (12.0 * 12 * 768 * 768 + 50257.0 * 768) + 6.0 * 12 * 768 * 1024;
  EXPECT_DOUBLE_EQ(flop_per_token(gpt2(12, 768, 12)), expected);
  EXPECT_DOUBLE_EQ(3 * forward_flop_per_token(gpt2(12, 768, 12)), expected);
}

struct Published {
  double width, layers, batch, gpus, seconds, mfu_percent;
};

// Korthikanti et al. 2022, table 5: vocabulary 51200, context 2048, A100 of 312 TFLOP/s.
TEST(KorthikantiFlop, GivesThePublishedUtilisation) {
  for (const Published& row :
       {Published{6144, 48, 4, 8, 1.10, 41.5}, Published{12288, 96, 64, 64, 13.75, 51.4},
        Published{20480, 105, 280, 280, 37.83, 56.0}, Published{25600, 128, 512, 512, 71.49, 56.3}}) {
    const double flop = korthikanti_flop(row.batch, row.layers, 2048, row.width, 51200);
    const double mfu_percent = 100 * flop / row.seconds / (row.gpus * 312e12);
    // Both published figures are rounded: the time to 0.01 s, the share to 0.1 %.
    EXPECT_NEAR(mfu_percent, row.mfu_percent, 0.05 + mfu_percent * 0.005 / row.seconds) << row.width;
  }
}

// The two counts differ by what they say they differ by: full instead of causal attention.
TEST(KorthikantiFlop, IsOursWithTheOtherHalfOfTheAttention) {
  const ModelOptions options = gpt2(12, 768, 12);
  const double attention = 6.0 * 12 * 768 * 1024;
  EXPECT_NEAR(korthikanti_flop(1, 12, 1024, 768, 50257) / 1024, flop_per_token(options) + attention,
              1e-9 * flop_per_token(options));
}

}  // namespace
}  // namespace trireme::model
