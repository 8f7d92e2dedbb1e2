#include "trireme/optim/optimizer.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme::optim {
namespace {

/// Four tensors on one rank: a decaying table with a second gradient, a vector, a frozen vector.
class OptimizerOfOneRank : public testing::Test {
 protected:
  OptimizerOfOneRank() {
    add("embedding.token.weight", {3, 5}, 0).decays = true;
    add("blocks.0.norm_1.gain", {7}, 1);
    add("blocks.1.norm_1.gain", {2}, 1).trainable = false;
    add("head.weight", {3, 5}, 2).tied_to = "embedding.token.weight";
    weights = std::make_unique<Weights>(device, store, data_axis, arena);
    sync = std::make_unique<GradientSync>(device, data_axis, *weights, arena, GradientSyncOptions{});
    optimizer = std::make_unique<Optimizer>(device, *weights, *sync, data_axis, *self, arena, options);
    for (tensor::Parameter& parameter : store.all()) {
      if (parameter.tied_to.empty()) fill(parameter.weight, 0.5F);
    }
    reduce_gradients();
  }

  tensor::Parameter& add(const std::string& name, const tensor::Shape& shape, int bucket) {
    tensor::Parameter made;
    made.name = name;
    made.global_shape = shape;
    made.shard = tensor::whole(shape);
    made.bucket = bucket;
    return store.add(made);
  }

  static void fill(const tensor::Tensor& tensor, float first) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.as<float>()[i] = first + 0.25F * static_cast<float>(i % 6);
  }

  void reduce_gradients() {
    sync->begin_step();
    for (int bucket : {2, 1, 0}) {
      (void)sync->write(bucket);
      for (tensor::Parameter* parameter : store.bucket(bucket))
        fill(parameter->gradient, static_cast<float>(bucket) - 1.4F);
      sync->bucket_done(bucket);
    }
    sync->finish();
  }

  [[nodiscard]] const tensor::Tensor& gradient(const char* name) { return store.find(name)->gradient; }

  device::Device device{{}};
  std::unique_ptr<comm::Communicator> self = comm::make_self_communicator();
  tensor::ParameterStore store;
  device::Arena arena{1 << 20};
  OptimizerOptions options;
  DataAxis data_axis{*self};
  std::unique_ptr<Weights> weights;
  std::unique_ptr<GradientSync> sync;
  std::unique_ptr<Optimizer> optimizer;
};

TEST_F(OptimizerOfOneRank, NormCountsATiedTableOnceAndFrozenTensorsNever) {
  double squares = 0;
  for (int i = 0; i < 15; ++i) {
    const double whole = static_cast<double>(gradient("embedding.token.weight").as<float>()[i]) +
                         static_cast<double>(gradient("head.weight").as<float>()[i]);
    squares += whole * whole;
  }
  for (int i = 0; i < 7; ++i)
    squares += std::pow(static_cast<double>(gradient("blocks.0.norm_1.gain").as<float>()[i]), 2);
  EXPECT_NEAR(optimizer->gradient_norm(), std::sqrt(squares), 1e-6 * std::sqrt(squares));
}

TEST_F(OptimizerOfOneRank, NormIsNotANumberWhenOneGradientIsNotFinite) {
  gradient("head.weight").as<float>()[14] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(optimizer->gradient_norm()));
  gradient("head.weight").as<float>()[14] = 0;
  gradient("blocks.1.norm_1.gain").as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::isnan(optimizer->gradient_norm())) << "a frozen tensor's gradient is not looked at";
}

TEST_F(OptimizerOfOneRank, UpdatesAsAdamWInDoubleDoes) {
  constexpr double rate = 0.01;
  constexpr double scale = 0.7;
  double weight = store.find("embedding.token.weight")->weight.as<float>()[4];
  double gain = store.find("blocks.0.norm_1.gain")->weight.as<float>()[6];
  double m_weight = 0, v_weight = 0, m_gain = 0, v_gain = 0;
  const auto adamw = [&](double& w, double& m, double& v, double g, double decay, int update) {
    m = options.beta1 * m + (1 - options.beta1) * g;
    v = options.beta2 * v + (1 - options.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(options.beta1, update));
    const double v_hat = v / (1 - std::pow(options.beta2, update));
    w -= rate * (m_hat / (std::sqrt(v_hat) + options.epsilon) + decay * w);
  };
  for (int update = 1; update <= 3; ++update) {
    const double g = scale * (static_cast<double>(gradient("embedding.token.weight").as<float>()[4]) +
                              static_cast<double>(gradient("head.weight").as<float>()[4]));
    adamw(weight, m_weight, v_weight, g, options.weight_decay, update);
    adamw(gain, m_gain, v_gain, scale * static_cast<double>(gradient("blocks.0.norm_1.gain").as<float>()[6]), 0,
          update);
    optimizer->update(rate, scale, update);
  }
  EXPECT_NEAR(store.find("embedding.token.weight")->weight.as<float>()[4], weight, 1e-6);
  EXPECT_NEAR(store.find("blocks.0.norm_1.gain")->weight.as<float>()[6], gain, 1e-6);
}

TEST_F(OptimizerOfOneRank, LeavesFrozenTensorsAlone) {
  optimizer->update(0.01, 1, 1);
  EXPECT_EQ(store.find("blocks.1.norm_1.gain")->weight.as<float>()[0], 0.5F);
  EXPECT_EQ(store.find("blocks.1.norm_1.gain")->weight.as<float>()[1], 0.75F);
}

TEST_F(OptimizerOfOneRank, NormLeavesOutReplicasThatAreCountedElsewhere) {
  const double with = optimizer->gradient_norm();
  store.find("blocks.0.norm_1.gain")->counted = false;
  double squares = with * with;
  for (int i = 0; i < 7; ++i)
    squares -= std::pow(static_cast<double>(gradient("blocks.0.norm_1.gain").as<float>()[i]), 2);
  EXPECT_NEAR(optimizer->gradient_norm(), std::sqrt(squares), 1e-9 * with);
}

TEST_F(OptimizerOfOneRank, TellsEachBucketThatHasItsNewWeights) {
  std::vector<int> buckets;
  std::vector<float> seen;
  optimizer->update(0.01, 1, 1, [&](int bucket) {
    buckets.push_back(bucket);
    seen.push_back(weights->own(bucket)[0]);
  });
  EXPECT_EQ(buckets, (std::vector<int>{0, 1}));
  EXPECT_EQ(seen[0], store.find("embedding.token.weight")->weight.as<float>()[0]);
  EXPECT_NE(seen[0], 0.5F);
}

TEST_F(OptimizerOfOneRank, KeepsWholeTensorsInGlobalCoordinatesWithoutPadding) {
  std::int64_t elements = 0;
  for (const StatePiece& state : optimizer->state()) {
    EXPECT_EQ(state.rectangle, tensor::whole(state.parameter->global_shape));
    EXPECT_EQ(state.weight, state.parameter->weight.as<float>());
    EXPECT_TRUE(state.counted);
    elements += state.rectangle.extent.size();
  }
  EXPECT_EQ(elements, 15 + 7 + 2);
}

TEST_F(OptimizerOfOneRank, PrintsItsGroups) {
  EXPECT_EQ(describe_decay_groups({optimizer->decay_lines()}),
            "decay: 1 tensor, 15 parameters (token.weight); no decay: 1 tensor, 7 parameters (norm_1.gain); frozen: 1 "
            "tensor, 2 parameters (norm_1.gain)");
}

TEST(DecayGroups, OfSeveralRanksCountEachNameOnce) {
  const std::string first = "decay\t60\tembedding.token.weight\nno decay\t8\tblocks.0.norm_1.gain\n";
  const std::string last = "no decay\t8\tblocks.1.norm_1.gain\ndecay\t60\tembedding.token.weight\n";
  EXPECT_EQ(describe_decay_groups({first, first, last}),
            "decay: 1 tensor, 60 parameters (token.weight); no decay: 2 tensors, 16 parameters (norm_1.gain)");
  EXPECT_EQ(describe_decay_groups({""}), "decay: none; no decay: none");
}

TEST(ClipFactor, ScalesLargeNormsDownToTheLimit) {
  EXPECT_EQ(clip_factor(4, 1), 0.25);
  EXPECT_EQ(clip_factor(1, 1), 1);
  EXPECT_EQ(clip_factor(0.5, 1), 1);
  EXPECT_EQ(clip_factor(4, 0), 1);
}

}  // namespace
}  // namespace trireme::optim
