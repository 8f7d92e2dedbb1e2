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

TEST(HeldParameterCount, AddsUpOverChunks) {
  const layers::Range all{.begin = 0, .count = 1};
  ModelOptions options = gpt2(12, 768, 12);
  for (const bool tied : {true, false}) {
    options.tied_embeddings = tied;
    for (const int stages : {1, 3, 4}) {
      std::int64_t sum = 0;
      for (const ChunkRange& chunk : partition(resolved(options), stages, 1, {})) {
        sum += held_parameter_count(options, chunk, 1, all);
      }
      const std::int64_t copies = tied && stages > 1 ? 1 : 0;  // the last stage has the table too
      EXPECT_EQ(sum, parameter_count(options) + copies * 50257 * 768) << stages;
    }
  }
  const ChunkRange end{.first_block = 11, .num_blocks = 1, .head = true};
  options.tied_embeddings = true;
  EXPECT_EQ(held_parameter_count(options, end, 1, all, false) - held_parameter_count(options, end, 1, all, true),
            50257 * 768);
}

TEST(HeldParameterCount, CountsOnEveryTensorRankWhatIsNotCut) {
  const ModelOptions options = resolved(gpt2(12, 768, 12));
  const std::int64_t uncut = 12 * (4 * 768 + 2 * 768) + 1024 * 768 + 2 * 768;
  for (const std::int64_t ranks : {1, 2, 4}) {
    std::int64_t sum = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const layers::Range slices{.begin = rank * 4 / ranks, .count = 4 / ranks};
      sum += held_parameter_count(options, whole_model(options), 4, slices);
    }
    EXPECT_EQ(sum, parameter_count(options) + (ranks - 1) * uncut) << ranks;
  }
}

TEST(HeldParameterCount, HasKeyValueHeadsOnEveryRankWhoseSlicesReadThem) {
  const ModelOptions options{.layers = 1,
                             .width = 24,
                             .heads = 8,
                             .kv_heads = 2,
                             .head_width = 3,
                             .mlp_width = 16,
                             .context = 4,
                             .vocab = 0,
                             .norm = Norm::rmsnorm,
                             .position = Position::rotary,
                             .bias = Bias::qkv};
  const ChunkRange block{.num_blocks = 1};
  const auto held = [&](std::int64_t begin, std::int64_t count) {
    return held_parameter_count(options, block, 4, {.begin = begin, .count = count});
  };
  const std::int64_t norms = 2 * 24;
  const std::int64_t slice = 24 * 2 * 3 * 2 + 2 * 3 + 2 * 24 * 4;  // two heads of query and output, four mlp columns
  const std::int64_t key_value = 2 * 24 * 3 + 2 * 3;               // a head of each with its biases
  EXPECT_EQ(held(0, 1), slice + key_value + norms);
  EXPECT_EQ(held(3, 1), slice + key_value + norms);
  EXPECT_EQ(held(0, 2), 2 * slice + key_value + norms);
  EXPECT_EQ(held(1, 2), 2 * slice + 2 * key_value + norms);
  EXPECT_EQ(held(0, 4), 4 * slice + 2 * key_value + norms);
}

TEST(HeldParameterCount, LeavesLastSlicesOfAShortVocabularyEmpty) {
  const ModelOptions options{.layers = 1, .width = 3, .heads = 1, .context = 7, .vocab = 5};
  const ChunkRange start{.embedding = true};
  const std::int64_t positions = 7 * 3;
  const std::int64_t rows[] = {2, 2, 1, 0};
  for (std::int64_t slice = 0; slice < 4; ++slice) {
    EXPECT_EQ(held_parameter_count(options, start, 4, {.begin = slice, .count = 1}), positions + rows[slice] * 3);
  }
}

TEST(ChunkFlopPerToken, AddsUpToTheModelsByChunkAndByPass) {
  for (const int stages : {1, 2, 5}) {
    const ModelOptions options = resolved(gpt2(12, 768, 12));
    double sum = 0;
    for (const ChunkRange& chunk : partition(options, stages, 1, {}))
      sum += chunk_flop_per_token(options, chunk).total();
    EXPECT_DOUBLE_EQ(sum, flop_per_token(options));
  }
  const PassFlop block = block_flop_per_token(gpt2(12, 768, 12));
  EXPECT_DOUBLE_EQ(block.forward, 24.0 * 768 * 768 + 2.0 * 768 * 1024);
  EXPECT_DOUBLE_EQ(block.backward_input, 24.0 * 768 * 768 + 4.0 * 768 * 1024);
  EXPECT_DOUBLE_EQ(block.backward_weight, 24.0 * 768 * 768);
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
