#include <cstring>

#include <gtest/gtest.h>

#include "parallel/optim/toy_training.hpp"
#include "parallel/parallel.hpp"

namespace trireme::optim {
namespace {

using testing::ToyOptions;
using testing::ToyTraining;
using testing::world;

ToyOptions options_of(int zero_stage) {
  return {.micro_batches = world().size(), .lanes = world().size(), .zero_stage = zero_stage};
}

TEST(Ownership, CoversEveryLogicalElementOnceAndNoPadding) {
  for (const int zero_stage : {0, 1}) {
    ToyTraining training(world(), options_of(zero_stage));
    std::map<std::string, std::int64_t> owned;
    for (const OwnedState& state : training.optimizer().owned_state()) {
      const tensor::Shard& rectangle = state.rectangle;
      for (int dim = 0; dim < rectangle.extent.num_dims(); ++dim) {
        EXPECT_LE(rectangle.offset[dim] + rectangle.extent[dim], state.parameter->global_shape[dim]);
      }
      owned[state.parameter->name] += rectangle.extent.size();
    }
    for (const tensor::Parameter& parameter : training.store().all()) {
      const std::int64_t expected = parameter.tied_to.empty() ? parameter.global_shape.size() : 0;
      EXPECT_EQ(world().all_reduce_sum(owned[parameter.name]), expected) << parameter.name;
    }
  }
}

TEST(Ownership, MomentsShrinkWithTheNumberOfRanks) {
  const device::Device device({});
  tensor::ParameterStore store;
  tensor::Parameter big;
  big.name = "big";
  big.global_shape = {840, 16};  // 840 rows: every number of ranks up to 8 divides it
  big.shard = tensor::whole(big.global_shape);
  store.add(big);
  const auto whole_bytes = static_cast<std::size_t>(big.global_shape.size()) * 2 * sizeof(float);
  for (const int zero_stage : {0, 1}) {
    device::Arena measuring;
    GradientSync gradients(device, store, world(), measuring, {.keep_whole = zero_stage == 0});
    Optimizer optimizer(device, gradients, world(), world(), measuring, {}, {.zero_stage = zero_stage});
    const std::size_t share = zero_stage == 0 ? 1 : static_cast<std::size_t>(world().size());
    EXPECT_EQ(measuring.used_bytes(device::MemoryClass::moments), whole_bytes / share);
  }
}

/// Stands for a checkpoint that was loaded: every rank writes only what it owns.
void load_numbers(ToyTraining& training) {
  for (const OwnedState& state : training.optimizer().owned_state()) {
    const tensor::Shape& offset = state.rectangle.offset;
    const std::int64_t columns = offset.num_dims() == 2 ? state.parameter->global_shape[1] : 1;
    for (std::int64_t i = 0; i < state.rectangle.extent.size(); ++i) {
      const auto element = static_cast<float>(offset[0] * columns + i);
      state.weight[i] = element;
      state.first_moment[i] = 1e-3F * element;
      state.second_moment[i] = 1e-4F * element;
    }
  }
}

TEST(Ownership, LoadedStateReachesEveryRank) {
  for (const int zero_stage : {0, 1}) {
    ToyTraining training(world(), options_of(zero_stage));
    training.step();
    load_numbers(training);
    training.optimizer().share_loaded_state();
    for (const tensor::Parameter& parameter : training.store().all()) {
      if (!parameter.tied_to.empty()) continue;
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < parameter.weight.size(); ++i) {
        wrong += parameter.weight.as<float>()[i] != static_cast<float>(i);
      }
      EXPECT_EQ(wrong, 0) << parameter.name;
    }
  }
}

TEST(Ownership, TrainingGoesOnAlikeAfterLoadingWithAndWithoutSharding) {
  ToyTraining sharded(world(), options_of(1));
  ToyTraining unsharded(world(), options_of(0));
  for (ToyTraining* training : {&sharded, &unsharded}) {
    load_numbers(*training);
    training->optimizer().share_loaded_state();
    training->step();
    training->step();
  }
  for (const tensor::Parameter& parameter : sharded.store().all()) {
    if (!parameter.tied_to.empty()) continue;
    EXPECT_EQ(std::memcmp(parameter.weight.data, unsharded.store().find(parameter.name)->weight.data,
                          parameter.weight.bytes()),
              0)
        << parameter.name;
  }
}

}  // namespace
}  // namespace trireme::optim
