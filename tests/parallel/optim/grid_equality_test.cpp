// What the data axis must not change: every rank runs the whole step alone as well, and compares.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "parallel/optim/toy_training.hpp"
#include "parallel/parallel.hpp"

namespace trireme::optim {
namespace {

using testing::ToyOptions;
using testing::ToyTraining;
using testing::world;

bool shares_eight_lanes() {
  return 8 % world().size() == 0;
}

/// The state of a rank that works alone: every tensor whole.
std::map<std::string, OwnedState> by_name(ToyTraining& alone) {
  std::map<std::string, OwnedState> states;
  for (const OwnedState& state : alone.optimizer().owned_state()) states[state.parameter->name] = state;
  return states;
}

std::int64_t first_element(const OwnedState& state) {
  const tensor::Shape& offset = state.rectangle.offset;
  if (offset.num_dims() == 0) return 0;
  return offset[0] * (offset.num_dims() == 2 ? state.parameter->global_shape[1] : 1);
}

/// The largest difference of any weight or moment that this rank owns; 0 only if all bits are equal.
double largest_difference(ToyTraining& shared, ToyTraining& alone) {
  const std::map<std::string, OwnedState> whole = by_name(alone);
  double largest = 0;
  const auto compare = [&](const float* mine, const float* theirs, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::memcmp(mine + i, theirs + i, sizeof(float)) == 0) continue;
      largest = std::max(largest, std::max(1e-30, std::abs(static_cast<double>(mine[i]) - theirs[i])));
    }
  };
  for (const OwnedState& state : shared.optimizer().owned_state()) {
    const OwnedState& other = whole.at(state.parameter->name);
    const std::int64_t first = first_element(state);
    const std::int64_t count = state.rectangle.extent.size();
    compare(state.weight, other.weight + first, count);
    compare(state.first_moment, other.first_moment + first, count);
    compare(state.second_moment, other.second_moment + first, count);
  }
  // Every rank also holds all weights of the others.
  for (const tensor::Parameter& parameter : shared.store().all()) {
    if (!parameter.tied_to.empty()) continue;
    compare(parameter.weight.as<float>(), alone.store().find(parameter.name)->weight.as<float>(),
            parameter.weight.size());
  }
  return largest;
}

double largest_gradient_difference(ToyTraining& shared, ToyTraining& alone) {
  double largest = 0;
  for (int bucket = 0; bucket < shared.gradients().num_buckets(); ++bucket) {
    const float* const mine = shared.gradients().gradients(bucket).as<float>();
    const float* const theirs = alone.gradients().gradients(bucket).as<float>();
    for (const OwnedRows& rows : shared.gradients().layout(bucket).owned) {
      for (std::int64_t i = rows.bucket_offset; i < rows.bucket_offset + rows.elements; ++i) {
        if (std::memcmp(mine + i, theirs + i, sizeof(float)) == 0) continue;
        largest = std::max(largest, std::max(1e-30, std::abs(static_cast<double>(mine[i]) - theirs[i])));
      }
    }
  }
  return largest;
}

void expect_equal_bits(const ToyOptions& options) {
  const auto self = comm::make_self_communicator();
  ToyTraining shared(world(), options);
  ToyTraining alone(*self, options);
  for (int step = 0; step < 3; ++step) {
    shared.step();
    alone.step();
    EXPECT_EQ(largest_gradient_difference(shared, alone), 0) << "step " << step;
    EXPECT_EQ(shared.norm(), alone.norm());
    EXPECT_EQ(largest_difference(shared, alone), 0) << "step " << step;
  }
}

TEST(DataAxis, LeavesEveryBitAsOnOneRank) {
  if (!shares_eight_lanes()) GTEST_SKIP() << "the ranks do not divide the lanes";
  expect_equal_bits({});
}

TEST(DataAxis, LeavesEveryBitWithoutTyingAndWithoutSharding) {
  if (!shares_eight_lanes()) GTEST_SKIP() << "the ranks do not divide the lanes";
  expect_equal_bits({.zero_stage = 0});
  expect_equal_bits({.tied = false});
  expect_equal_bits({.zero_stage = 0, .tied = false});
}

TEST(DataAxis, LeavesEveryBitWhenOnlyVectorsOfTwoElementsLearn) {
  if (!shares_eight_lanes()) GTEST_SKIP() << "the ranks do not divide the lanes";
  expect_equal_bits({.only_small = true});
}

TEST(DataAxis, IsCloseAndDeterministicOnEveryNumberOfRanks) {
  const ToyOptions options{.micro_batches = 4 * world().size(), .lanes = world().size()};
  const auto self = comm::make_self_communicator();
  ToyTraining shared(world(), options);
  ToyTraining again(world(), options);
  ToyTraining alone(*self, {.micro_batches = options.micro_batches, .lanes = 1});
  for (int step = 0; step < 3; ++step) {
    shared.step();
    again.step();
    alone.step();
    EXPECT_NEAR(shared.norm(), alone.norm(), 1e-6 * alone.norm());
    EXPECT_LT(largest_difference(shared, alone), 1e-6);
    EXPECT_EQ(shared.norm(), again.norm());
    for (const tensor::Parameter& parameter : shared.store().all()) {
      if (!parameter.tied_to.empty()) continue;
      EXPECT_EQ(
          std::memcmp(parameter.weight.data, again.store().find(parameter.name)->weight.data, parameter.weight.bytes()),
          0);
    }
  }
}

TEST(DataAxis, ShardingChangesNoBitOnEveryNumberOfRanks) {
  const ToyOptions options{.micro_batches = 2 * world().size(), .lanes = world().size()};
  ToyOptions unsharded_options = options;
  unsharded_options.zero_stage = 0;
  ToyTraining sharded(world(), options);
  ToyTraining unsharded(world(), unsharded_options);
  for (int step = 0; step < 3; ++step) {
    sharded.step();
    unsharded.step();
  }
  EXPECT_EQ(sharded.norm(), unsharded.norm());
  const std::vector<OwnedState> a = sharded.optimizer().owned_state();
  const std::vector<OwnedState> b = unsharded.optimizer().owned_state();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t bytes = static_cast<std::size_t>(a[i].rectangle.extent.size()) * sizeof(float);
    EXPECT_EQ(a[i].rectangle, b[i].rectangle);
    EXPECT_EQ(std::memcmp(a[i].weight, b[i].weight, bytes), 0);
    EXPECT_EQ(std::memcmp(a[i].first_moment, b[i].first_moment, bytes), 0);
    EXPECT_EQ(std::memcmp(a[i].second_moment, b[i].second_moment, bytes), 0);
  }
}

}  // namespace
}  // namespace trireme::optim
