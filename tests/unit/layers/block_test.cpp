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

/// Of the largest element of an output, and of a gradient's length. In half precision some twenty tensors on the way
/// are rounded, each with an error of its own: up to six roundings were seen.
double tolerance_of(Dtype compute) {
  return compute == Dtype::f32 ? 2e-5 : 8 * test::rounding_of(compute);
}

/// Output element by element; every gradient along two random directions.
void expect_reference(const BlockCase& of, std::int64_t slices) {
  SCOPED_TRACE(std::to_string(slices) + " slices, " + std::string(name_of(of.compute)));
  const double tolerance = tolerance_of(of.compute);
  const auto self = comm::make_self_communicator();
  BlockRun run(*self, slices, of);
  const Outcome outcome = run.run();

  auto weights = run.rig().whole_weights();
  test::Batch batch(of.batch, of.tokens, 11, true);
  batch.sequences.first_sequence = 0;
  const test::BlockReference reference(of, weights, batch.sequences);
  const auto rows_of = [&](const std::string& name) {
    return doubles(test::rounded(run.rig().device(), test::normals(name, of.rows() * of.width), of.compute));
  };
  Doubles x = rows_of("x0");
  const Doubles dy = rows_of("dy0");
  EXPECT_TRUE(test::all_near(outcome.own_rows.at("output0"), reference(x), tolerance));

  const auto loss = [&] { return dot(reference(x), dy); };
  const auto expect_along = [&](const std::string& name, Doubles& values, const Doubles& gradient, double size) {
    ASSERT_EQ(values.size(), gradient.size()) << name;
    for (const std::string salt : {"a", "b"}) {
      const std::vector<float> direction = test::normals(name + salt, static_cast<std::int64_t>(values.size()));
      EXPECT_NEAR(dot(gradient, doubles(direction)), test::derivative(values, direction, loss), tolerance * (size + 1))
          << name;
    }
  };
  const auto size_of = [](const Doubles& gradient) { return std::sqrt(dot(gradient, gradient)); };
  const auto gradient_of = [&](const std::string& name) { return run.rig().whole(name, &tensor::Parameter::gradient); };
  const Doubles dx = doubles(outcome.own_rows.at("dx0"));
  expect_along("input", x, dx, size_of(dx));
  for (auto& [name, values] : weights) {
    // The gradient of the key bias is zero but for rounding, of numbers of the size of those for the value bias.
    const std::string of_size = name == "attention.key.bias" ? "attention.value.bias" : name;
    expect_along(name, values, gradient_of(name), size_of(gradient_of(of_size)));
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

TEST(Block, MatchesTheReferenceInHalfPrecision) {
  for (const Dtype compute : {Dtype::bf16, Dtype::f16}) {
    BlockCase gpt2;
    BlockCase llama = llama_like();
    BlockCase few;
    few.batch = 1;
    few.tokens = 3;
    BlockCase odd = llama_like();
    odd.heads = 6;
    odd.kv_heads = 3;
    odd.width = 13;
    odd.mlp_width = 18;
    for (BlockCase* of : {&gpt2, &llama, &few, &odd}) of->compute = compute;
    for (const std::int64_t slices : {1, 2, 4, 8}) expect_reference(gpt2, slices);
    for (const std::int64_t slices : {1, 2, 4, 8}) expect_reference(llama, slices);
    for (const std::int64_t slices : {1, 4}) expect_reference(few, slices);
    for (const std::int64_t slices : {1, 3, 6}) expect_reference(odd, slices);
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
  BlockCase half = llama_like();
  half.compute = Dtype::bf16;
  for (BlockCase of : {BlockCase{}, llama_like(), half}) {
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
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    BlockCase of = llama_like();
    of.tokens = 101;
    of.compute = compute;
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
}

}  // namespace
}  // namespace trireme
