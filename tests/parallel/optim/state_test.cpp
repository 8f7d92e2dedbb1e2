// What a rank keeps of the state, for checkpoints and for the memory plan.
#include <map>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "trireme/kernels/random.hpp"

#include "parallel/optim/toy_training.hpp"
#include "parallel/parallel.hpp"

namespace trireme::optim {
namespace {

using testing::ToyOptions;
using testing::ToyTraining;
using testing::world;

constexpr Dtype computes[] = {Dtype::f32, Dtype::bf16, Dtype::f16};

/// One rank a group, half of the ranks (or all), all of them, at every ZeRO stage.
std::vector<ToyOptions> all_options(Dtype compute = Dtype::f32) {
  std::vector<ToyOptions> result;
  const int size = world().size();
  for (const int zero_stage : {0, 1, 2, 3}) {
    for (const int group : {1, size % 2 == 0 ? size / 2 : size, size}) {
      if (zero_stage == 0 && group > 1) continue;
      result.push_back({.sum = {.ranks = size, .group = group, .sharded = zero_stage >= 2},
                        .zero_stage = zero_stage,
                        .compute = compute});
    }
  }
  return result;
}

TEST(State, CountsEveryLogicalElementOnceAndNoPadding) {
  for (const ToyOptions& options : all_options()) {
    SCOPED_TRACE(text_of(options));
    ToyTraining training(world(), options);
    std::map<std::string, std::int64_t> counted;
    std::map<std::string, std::int64_t> kept;
    for (const StatePiece& piece : training.optimizer().state()) {
      const tensor::Shard& rectangle = piece.rectangle;
      for (int dim = 0; dim < rectangle.extent.num_dims(); ++dim) {
        EXPECT_LE(rectangle.offset[dim] + rectangle.extent[dim], piece.parameter->global_shape[dim]);
      }
      kept[piece.parameter->name] += rectangle.extent.size();
      if (piece.counted) counted[piece.parameter->name] += rectangle.extent.size();
    }
    std::string last;
    for (const tensor::Parameter& parameter : training.store().all()) {
      if (parameter.name == last) continue;  // the second slice
      last = parameter.name;
      const std::int64_t size = parameter.tied_to.empty() ? parameter.global_shape.size() : 0;
      const int copies = world().size() / options.sum.group;
      EXPECT_EQ(world().all_reduce_sum(counted[last]), parameter.counted ? size : 0) << last;
      EXPECT_EQ(world().all_reduce_sum(kept[last]), size * copies) << last;
    }
  }
}

/// Stands for a checkpoint that was loaded: every rank writes what it keeps.
void load_numbers(ToyTraining& training) {
  for (const StatePiece& piece : training.optimizer().state()) {
    const tensor::Shape& offset = piece.rectangle.offset;
    const std::int64_t columns = offset.num_dims() == 2 ? piece.parameter->global_shape[1] : 1;
    for (std::int64_t i = 0; i < piece.rectangle.extent.size(); ++i) {
      const auto element = static_cast<float>(offset[0] * columns + i);
      piece.weight[i] = element;
      piece.first_moment[i] = 1e-3F * element;
      piece.second_moment[i] = 1e-4F * element;
    }
  }
  training.optimizer().share_loaded_state();
}

std::int64_t count_wrong(ToyTraining& training) {
  std::int64_t wrong = 0;
  for (int bucket = 0; bucket < training.weights().num_buckets(); ++bucket) {
    training.weights().acquire(bucket);
    for (const tensor::Parameter* parameter : training.store().bucket(bucket)) {
      if (!parameter->tied_to.empty()) continue;
      const tensor::Shape& offset = parameter->shard.offset;
      const std::int64_t first = offset[0] * (offset.num_dims() == 2 ? parameter->global_shape[1] : 1);
      std::vector<float> expected(static_cast<std::size_t>(parameter->weight.size()));
      std::iota(expected.begin(), expected.end(), static_cast<float>(first));
      wrong += !testing::holds(parameter->weight, expected.data());
    }
    training.weights().release(bucket);
  }
  return wrong;
}

TEST(State, OnceLoadedReachesEveryRank) {
  for (const Dtype compute : computes) {
    for (const ToyOptions& options : all_options(compute)) {
      SCOPED_TRACE(text_of(options));
      ToyTraining training(world(), options);
      training.step();
      load_numbers(training);
      EXPECT_EQ(count_wrong(training), 0);
    }
  }
}

TEST(State, TrainingGoesOnAlikeAfterLoadingAtEveryStage) {
  const bool is_subtree = (world().size() & (world().size() - 1)) == 0;
  std::vector<double> norms;
  std::vector<float> weights;
  for (const ToyOptions& options : all_options()) {
    if (!is_subtree && options.sum.group != world().size()) continue;
    SCOPED_TRACE(text_of(options));
    ToyTraining training(world(), options);
    load_numbers(training);
    training.step();
    training.step();
    training.weights().acquire(0);
    norms.push_back(training.norm());
    weights.push_back(training.store().find("token")->weight.as<float>()[1763]);
    training.weights().release(0);
    EXPECT_EQ(norms.back(), norms.front());
    EXPECT_EQ(weights.back(), weights.front());
  }
}

void draw(ToyTraining& training) {
  for (tensor::Parameter& parameter : training.store().all()) {
    parameter.initial = tensor::Initial::normal;
    parameter.deviation = 0.02;
  }
  training.weights().draw(7);
}

void expect_weights_of(ToyTraining& alone, ToyTraining& shared) {
  for (int bucket = 0; bucket < shared.weights().num_buckets(); ++bucket) {
    shared.weights().acquire(bucket);
    const std::vector<tensor::Parameter*> mine = shared.store().bucket(bucket);
    const std::vector<tensor::Parameter*> theirs = alone.store().bucket(bucket);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (!mine[i]->tied_to.empty()) continue;
      EXPECT_TRUE(testing::holds(mine[i]->weight, theirs[i]->weight.as<float>())) << mine[i]->name;
    }
    shared.weights().release(bucket);
  }
}

TEST(State, FirstWeightsAreThoseOfOneRank) {
  const auto self = comm::make_self_communicator();
  ToyTraining alone(*self, {.zero_stage = 1});
  draw(alone);
  for (const tensor::Parameter& parameter : alone.store().all()) {
    if (!parameter.tied_to.empty()) continue;
    std::vector<float> expected(static_cast<std::size_t>(parameter.weight.size()));
    kernels::draw_initial(device::Device({}), 7, parameter, parameter.shard, expected.data());
    EXPECT_TRUE(testing::holds(parameter.weight, expected.data())) << parameter.name;
  }
  for (const Dtype compute : computes) {
    for (const ToyOptions& options : all_options(compute)) {
      SCOPED_TRACE(text_of(options));
      ToyTraining shared(world(), options);
      draw(shared);
      expect_weights_of(alone, shared);
    }
  }
}

}  // namespace
}  // namespace trireme::optim
