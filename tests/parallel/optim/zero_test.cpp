// Every ZeRO stage and group against whole tensors in one process, bit for bit.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "parallel/optim/toy_training.hpp"
#include "parallel/parallel.hpp"

namespace trireme::optim {
namespace {

using testing::text_of;
using testing::ToyOptions;
using testing::ToyReference;
using testing::ToySum;
using testing::ToyTraining;
using testing::world;

bool is_power_of_two(std::int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

std::vector<int> divisors(int number) {
  std::vector<int> result;
  for (int divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) result.push_back(divisor);
  }
  return result;
}

/// What a step adds on one rank alone with as many lanes: the promise is that nothing else changes a bit.
ToySum on_one_rank(const ToySum& sum) {
  return {.ranks = 1, .group = 1, .micro_batches = sum.ranks * sum.micro_batches, .lanes = sum.ranks * sum.lanes};
}

bool is_promised(const ToySum& sum) {
  return is_power_of_two(sum.ranks * sum.lanes) && (!sum.sharded || sum.micro_batches == 1);
}

bool same_bits(const float* mine, const float* theirs, std::int64_t count) {
  return std::memcmp(mine, theirs, static_cast<std::size_t>(count) * sizeof(float)) == 0;
}

std::int64_t first_element(const tensor::Shard& rectangle) {
  if (rectangle.extent.num_dims() == 0) return 0;
  return rectangle.offset[0] * (rectangle.extent.num_dims() == 2 ? rectangle.extent[1] : 1);
}

void expect_reduced_gradients(ToyTraining& training, const ToyReference& reference) {
  for (int bucket = 0; bucket < training.weights().num_buckets(); ++bucket) {
    const BucketLayout& layout = training.weights().layout(bucket);
    for (const OwnedRows& rows : layout.owned) {
      tensor::Shard rectangle = rows.parameter->shard;
      if (rectangle.extent.num_dims() > 0) rectangle.offset[0] += rows.begin;
      const float* const expected = reference.gradient(rows.parameter->name).data() + first_element(rectangle);
      const float* const own = training.gradients().own(bucket).data() + rows.bucket_offset - layout.own_begin;
      EXPECT_TRUE(same_bits(own, expected, rows.elements)) << rows.parameter->name;
    }
  }
}

void expect_state(ToyTraining& training, const ToyReference& reference) {
  for (const StatePiece& piece : training.optimizer().state()) {
    const ToyReference::Whole& whole = reference.at(piece.parameter->name);
    const std::int64_t first = first_element(piece.rectangle);
    const std::int64_t count = piece.rectangle.extent.size();
    EXPECT_TRUE(same_bits(piece.weight, whole.weight.data() + first, count)) << piece.parameter->name;
    EXPECT_TRUE(same_bits(piece.first_moment, whole.first_moment.data() + first, count)) << piece.parameter->name;
    EXPECT_TRUE(same_bits(piece.second_moment, whole.second_moment.data() + first, count)) << piece.parameter->name;
  }
}

void expect_equal_bits(const ToyOptions& options) {
  SCOPED_TRACE(text_of(options));
  ToyTraining training(world(), options);
  ToyReference reference(training.store(), is_promised(options.sum) ? on_one_rank(options.sum) : options.sum);
  training.check_against(&reference);
  for (int step = 0; step < 2; ++step) {
    training.step();
    reference.step();
    expect_reduced_gradients(training, reference);
    EXPECT_EQ(training.norm(), reference.norm());
    EXPECT_NEAR(training.norm(), reference.plain_norm(), 1e-9 * reference.plain_norm());
    expect_state(training, reference);
  }
  training.compare_weights();
  EXPECT_EQ(training.wrong_weights(), 0);
}

ToyOptions options_of(int zero_stage, int group, std::int64_t micro_batches, std::int64_t lanes, bool tied = true) {
  const bool sharded = zero_stage >= 2 && lanes == 1;
  return {.sum = {.ranks = world().size(),
                  .group = zero_stage == 0 ? 1 : group,
                  .micro_batches = micro_batches,
                  .lanes = lanes,
                  .sharded = sharded},
          .zero_stage = zero_stage,
          .tied = tied};
}

class EveryStage : public ::testing::TestWithParam<int> {};

TEST_P(EveryStage, LeavesEveryBitInEveryGroupWithOneMicroBatch) {
  for (int group : divisors(world().size())) expect_equal_bits(options_of(GetParam(), group, 1, 1));
}

TEST_P(EveryStage, LeavesEveryBitInEveryGroupWithSeveralMicroBatches) {
  for (int group : divisors(world().size())) {
    expect_equal_bits(options_of(GetParam(), group, 2, 1, group % 2 == 0));
    expect_equal_bits(options_of(GetParam(), group, 4, 1, group % 2 == 1));
  }
}

TEST_P(EveryStage, LeavesEveryBitInEveryGroupWithLanes) {
  for (int group : divisors(world().size())) {
    expect_equal_bits(options_of(GetParam(), group, 2, 2));
    expect_equal_bits(options_of(GetParam(), group, 4, 2, false));
  }
}

TEST_P(EveryStage, RoundsTheSameMastersInHalfPrecision) {
  for (const Dtype compute : {Dtype::bf16, Dtype::f16}) {
    for (int group : divisors(world().size())) {
      ToyOptions options = options_of(GetParam(), group, 2, 1, group % 2 == 1);
      options.compute = compute;
      expect_equal_bits(options);
    }
  }
}

TEST_P(EveryStage, LeavesEveryBitWhenOnlyVectorsOfTwoElementsLearn) {
  ToyOptions options = options_of(GetParam(), world().size(), 1, 1);
  options.only_small = true;
  expect_equal_bits(options);
}

TEST_P(EveryStage, IsCloseToOneRankWhereThePromiseEnds) {
  for (int group : divisors(world().size())) {
    const ToyOptions options = options_of(GetParam(), group, 3, 1);
    SCOPED_TRACE(text_of(options));
    ToyTraining training(world(), options);
    ToyReference reference(training.store(), {.micro_batches = 3L * world().size()});
    for (int step = 0; step < 2; ++step) {
      training.step();
      reference.step();
    }
    EXPECT_NEAR(training.norm(), reference.norm(), 1e-6 * reference.norm());
    for (const StatePiece& piece : training.optimizer().state()) {
      const ToyReference::Whole& whole = reference.at(piece.parameter->name);
      const std::int64_t first = first_element(piece.rectangle);
      double worst = 0;
      for (std::int64_t i = 0; i < piece.rectangle.extent.size(); ++i) {
        const double expected = whole.weight[static_cast<std::size_t>(first + i)];
        worst = std::max(worst, std::abs(static_cast<double>(piece.weight[i]) - expected));
      }
      EXPECT_LT(worst, 1e-5) << piece.parameter->name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zero, EveryStage, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace trireme::optim
