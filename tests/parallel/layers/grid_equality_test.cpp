// The promise of the tensor axis: the bits do not depend on how many ranks share the slices.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/parallel.hpp"
#include "unit/layers/cases.hpp"

namespace trireme {
namespace {

using test::Arrays;
using test::BlockCase;
using test::BlockRun;
using test::EndsCase;
using test::EndsRun;
using test::Outcome;
using testing::world;

/// The slices to try. The promise needs a power of two of them on each rank.
std::vector<std::int64_t> slice_counts() {
  std::vector<std::int64_t> counts;
  for (const std::int64_t slices : {3, 4, 6, 8}) {
    const std::int64_t on_a_rank = slices / world().size();
    if (slices % world().size() == 0 && (on_a_rank & (on_a_rank - 1)) == 0) counts.push_back(slices);
  }
  return counts;
}

/// Elements that differ in any bit; -1 where not even the sizes are equal.
std::int64_t differences(const std::vector<float>& mine, const std::vector<float>& expected) {
  if (mine.size() != expected.size()) return -1;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) count += std::memcmp(&mine[i], &expected[i], sizeof(float)) != 0;
  return count;
}

/// `whole` is what one rank has, `mine` what this rank has of the same.
void expect_same(const test::Rig& rig, std::int64_t rows, const Outcome& mine, const Outcome& whole) {
  ASSERT_EQ(mine.own_rows.size(), whole.own_rows.size());
  for (const auto& [name, values] : mine.own_rows) {
    EXPECT_EQ(differences(values, rig.own(whole.own_rows.at(name), rows)), 0) << name;
  }
  for (const auto& [name, values] : mine.alike) {
    EXPECT_EQ(differences(values, whole.alike.at(name)), 0) << name;
  }
  ASSERT_FALSE(mine.gradients.empty());
  for (const auto& [name, values] : mine.gradients) {
    EXPECT_EQ(differences(values, whole.gradients.at(name)), 0) << name;
  }
}

/// A like case whose heads can be cut in `slices`.
BlockCase fitted(BlockCase of, std::int64_t slices) {
  if (slices % 3 != 0) return of;
  of.heads = 6;
  if (of.kv_heads == 8) of.kv_heads = 6;
  if (of.kv_heads == 2) of.kv_heads = 3;
  return of;
}

void expect_equal_to_one_rank(BlockCase of) {
  of.micro_batches = 2;
  const auto self = comm::make_self_communicator();
  for (const std::int64_t slices : slice_counts()) {
    for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      SCOPED_TRACE(std::to_string(slices) + " slices, " + std::to_string(of.rows()) + " rows, " +
                   std::string(name_of(compute)));
      of.compute = compute;
      BlockRun run(world(), slices, fitted(of, slices));
      const Outcome mine = run.run();
      expect_same(run.rig(), of.rows(), mine, BlockRun(*self, slices, fitted(of, slices)).run());
    }
  }
}

BlockCase llama_like() {
  BlockCase of;
  of.kv_heads = 2;
  of.norm = layers::NormKind::rms;
  of.mlp = layers::MlpKind::swiglu;
  of.rotary = true;
  of.bias = false;
  return of;
}

TEST(TensorGrids, BlockOfGpt2StyleIsEqualToOneRank) {
  expect_equal_to_one_rank({});
}

TEST(TensorGrids, BlockOfLlamaStyleWithFewKeyValueHeadsIsEqualToOneRank) {
  expect_equal_to_one_rank(llama_like());
}

TEST(TensorGrids, BlockWithOneKeyValueHeadIsEqualToOneRank) {
  BlockCase of = llama_like();
  of.kv_heads = 1;
  expect_equal_to_one_rank(of);
}

TEST(TensorGrids, BlockThatMakesItsCoreAgainIsEqualToOneRank) {
  BlockCase of = llama_like();
  of.again = true;
  expect_equal_to_one_rank(of);
}

TEST(TensorGrids, BlockOfMoreRowsThanOneBlockOfPartialsIsEqualToOneRank) {
  BlockCase of;
  of.tokens = 101;
  of.width = 21;
  of.head_width = 5;
  expect_equal_to_one_rank(of);
}

TEST(TensorGrids, BlockWithFewerRowsThanRanksIsEqualToOneRank) {
  BlockCase of = llama_like();
  of.batch = 1;
  for (const std::int64_t tokens : {1, 2, 3}) {
    of.tokens = tokens;
    expect_equal_to_one_rank(of);
  }
}

void expect_ends_equal(EndsCase of) {
  of.micro_batches = 2;
  const auto self = comm::make_self_communicator();
  for (const std::int64_t slices : slice_counts()) {
    for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      SCOPED_TRACE(std::to_string(slices) + " slices, vocabulary of " + std::to_string(of.vocab) + ", " +
                   std::string(name_of(compute)));
      of.compute = compute;
      EndsRun run(world(), slices, of);
      const Outcome mine = run.run();
      expect_same(run.rig(), of.rows(), mine, EndsRun(*self, slices, of).run());
    }
  }
}

TEST(TensorGrids, BlockOfAnOddNumberOfRowsIsEqualToOneRank) {
  BlockCase of = llama_like();
  of.batch = 1;
  of.tokens = 13;
  of.width = 21;
  of.head_width = 10;
  expect_equal_to_one_rank(of);
}

TEST(TensorGrids, EmbeddingAndTiedHeadAreEqualToOneRank) {
  expect_ends_equal({});
}

TEST(TensorGrids, EmbeddingAndHeadOfTheirOwnAreEqualToOneRank) {
  expect_ends_equal({.norm = layers::NormKind::rms, .tied = false, .learned_positions = false});
}

TEST(TensorGrids, HeadWithAFarTableIsEqualToOneRank) {
  expect_ends_equal({.far_table = true});
}

TEST(TensorGrids, EndsWithEmptyVocabularySlicesAreEqualToOneRank) {
  for (const std::int64_t vocab : {1, 3, 5}) expect_ends_equal({.vocab = vocab});
}

TEST(TensorGrids, EndsOfSeveralChunksAreEqualToOneRank) {
  expect_ends_equal({.tokens = 101, .width = 21});
}

TEST(TensorGrids, EndsWithFewerRowsThanRanksAreEqualToOneRank) {
  for (const std::int64_t tokens : {1, 2}) expect_ends_equal({.batch = 1, .tokens = tokens});
}

}  // namespace
}  // namespace trireme
