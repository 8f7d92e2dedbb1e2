#include "trireme/layers/block.hpp"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/compare.hpp"
#include "unit/layers/block_reference.hpp"

namespace trireme {
namespace {

using test::BlockCase;
using test::BlockRun;
using test::Doubles;
using test::Outcome;

BlockCase llama_like() {
  BlockCase of;
  of.kv_heads = 2;
  of.norm = layers::NormKind::rms;
  of.mlp = layers::MlpKind::swiglu;
  of.rotary = true;
  of.bias = false;
  return of;
}

Doubles doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

double dot(const Doubles& a, const Doubles& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Output element by element; every gradient along two random directions.
void expect_reference(const BlockCase& of, std::int64_t slices) {
  SCOPED_TRACE(std::to_string(slices) + " slices");
  const auto self = comm::make_self_communicator();
  BlockRun run(*self, slices, of);
  const Outcome outcome = run.run();

  auto weights = run.rig().whole_weights();
  test::Batch batch(of.batch, of.tokens, 11, true);
  batch.sequences.first_sequence = 0;
  const test::BlockReference reference(of, weights, batch.sequences);
  Doubles x = doubles(test::normals("x0", of.rows() * of.width));
  const Doubles dy = doubles(test::normals("dy0", of.rows() * of.width));
  EXPECT_TRUE(test::all_near(outcome.own_rows.at("output0"), reference(x), 2e-5));

  const auto loss = [&] { return dot(reference(x), dy); };
  const auto expect_along = [&](const std::string& name, Doubles& values, const Doubles& gradient) {
    ASSERT_EQ(values.size(), gradient.size()) << name;
    for (const std::string salt : {"a", "b"}) {
      const std::vector<float> direction = test::normals(name + salt, static_cast<std::int64_t>(values.size()));
      const double size = std::sqrt(dot(gradient, gradient));
      // The gradient of the key bias is zero but for rounding.
      EXPECT_NEAR(dot(gradient, doubles(direction)), test::derivative(values, direction, loss), 2e-5 * size + 2e-5)
          << name;
    }
  };
  expect_along("input", x, doubles(outcome.own_rows.at("dx0")));
  for (auto& [name, values] : weights) {
    expect_along(name, values, run.rig().whole(name, &tensor::Parameter::gradient));
  }
}

TEST(Block, MatchesTheReferenceInGpt2StyleInAnyNumberOfSlices) {
  for (const std::int64_t slices : {1, 2, 4, 8}) expect_reference({}, slices);
}

TEST(Block, MatchesTheReferenceInLlamaStyleInAnyNumberOfSlices) {
  for (const std::int64_t slices : {1, 2, 4, 8}) expect_reference(llama_like(), slices);
}

TEST(Block, MatchesTheReferenceWithOneKeyValueHead) {
  BlockCase of = llama_like();
  of.kv_heads = 1;
  for (const std::int64_t slices : {1, 4}) expect_reference(of, slices);
}

TEST(Block, MatchesTheReferenceWithSixHeadsInTwoAndThreeSlices) {
  BlockCase of;
  of.heads = 6;
  of.kv_heads = 6;
  of.width = 13;
  of.head_width = 5;
  of.mlp_width = 18;
  of.mlp = layers::MlpKind::gelu;
  for (const std::int64_t slices : {2, 3, 6}) expect_reference(of, slices);
  of.kv_heads = 3;
  for (const std::int64_t slices : {1, 3, 6}) expect_reference(of, slices);
}

TEST(Block, MatchesTheReferenceWithFewerRowsThanSlices) {
  for (const std::int64_t tokens : {1, 3}) {
    BlockCase of;
    of.batch = 1;
    of.tokens = tokens;
    expect_reference(of, 4);
    expect_reference(of, 8);
  }
}

TEST(Block, SumsRowsBeyondOneBlockOfPartials) {
  BlockCase of = llama_like();
  of.batch = 3;
  of.tokens = 101;
  const auto self = comm::make_self_communicator();
  const Outcome whole = BlockRun(*self, 1, of).run();
  const Outcome sliced = BlockRun(*self, 8, of).run();
  for (const auto& [name, values] : whole.own_rows) {
    EXPECT_TRUE(test::all_near(sliced.own_rows.at(name), doubles(values), 2e-5)) << name;
  }
}

TEST(Block, GradientsOfMicroBatchesAreAdded) {
  BlockCase of = llama_like();
  of.bias = true;
  const auto self = comm::make_self_communicator();
  const auto gradients_of = [&](int first, int count) {
    of.first_micro_batch = first;
    of.micro_batches = count;
    return BlockRun(*self, 4, of).run().gradients;
  };
  const test::Arrays first = gradients_of(0, 1);
  const test::Arrays second = gradients_of(1, 1);
  for (const auto& [name, values] : gradients_of(0, 2)) {
    Doubles sum = doubles(first.at(name));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(second.at(name)[i]);
    EXPECT_TRUE(test::all_near(values, sum, 2e-5)) << name;
  }
}

TEST(Block, MakingTheCoreAgainChangesNoBit) {
  for (BlockCase of : {BlockCase{}, llama_like()}) {
    const auto self = comm::make_self_communicator();
    const Outcome kept = BlockRun(*self, 4, of).run();
    of.again = true;
    const Outcome again = BlockRun(*self, 4, of).run();
    for (const auto& [name, values] : kept.own_rows) {
      EXPECT_TRUE(test::same_bits(again.own_rows.at(name), values)) << name;
    }
    for (const auto& [name, values] : kept.gradients) {
      EXPECT_TRUE(test::same_bits(again.gradients.at(name), values)) << name;
    }
  }
}

TEST(Block, ThreadsChangeNoBit) {
  BlockCase of = llama_like();
  of.tokens = 101;
  const auto self = comm::make_self_communicator();
  const Outcome one = BlockRun(*self, 4, of).run();
  of.num_threads = 3;
  const Outcome three = BlockRun(*self, 4, of).run();
  for (const auto& [name, values] : one.own_rows) {
    EXPECT_TRUE(test::same_bits(three.own_rows.at(name), values)) << name;
  }
  for (const auto& [name, values] : one.gradients) {
    EXPECT_TRUE(test::same_bits(three.gradients.at(name), values)) << name;
  }
}

}  // namespace
}  // namespace trireme
