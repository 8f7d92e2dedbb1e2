#include "trireme/model/stage.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/small_model.hpp"

namespace trireme::model {
namespace {

ModelOptions odd_model() {
  return {.layers = 2, .width = 12, .heads = 3, .mlp_width = 20, .context = 7, .vocab = 11, .initial_deviation = 0.3};
}

data::Batch random_batch(const ModelOptions& options, std::int64_t sequences, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<std::int32_t> token(0, static_cast<std::int32_t>(options.vocab) - 1);
  data::Batch batch;
  batch.sequences = sequences;
  batch.context = options.context;
  for (std::int64_t n = 0; n < sequences * options.context; ++n) {
    batch.input.push_back(token(engine));
    batch.targets.push_back(token(engine));
    batch.weights.push_back(n % 5 == 3 ? 0.0F : 1.0F);
    batch.positions.push_back(static_cast<std::int32_t>(n % options.context));
  }
  return batch;
}

/// Loss by forward passes only, at the weights as they are.
double loss_of(support::SmallModel& model, const data::Batch& batch, const StepKey& key) {
  return model.loss_and_gradients(batch, key);
}

void expect_gradients_by_finite_differences(const ModelOptions& options) {
  const data::Batch batch = random_batch(options, 3);
  support::SmallModel model({.model = options, .sequences = 3});
  model.stage().draw_weights(5);
  const StepKey key{.seed = 3, .step = 9};
  std::mt19937 engine(17);
  for (tensor::Parameter& parameter : model.stage().parameters().all()) {
    if (!parameter.tied_to.empty()) continue;
    // Directional derivative along a random direction of this parameter alone.
    std::normal_distribution<float> normal;
    std::vector<float> direction(static_cast<std::size_t>(parameter.weight.size()));
    for (float& value : direction) value = normal(engine);
    auto* weight = parameter.weight.as<float>();
    const std::vector<float> start(weight, weight + direction.size());

    static_cast<void>(loss_of(model, batch, key));
    double analytic = 0;
    for (const tensor::Parameter& part : model.stage().parameters().all()) {
      if (part.name != parameter.name && part.tied_to != parameter.name) continue;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        analytic += static_cast<double>(part.gradient.as<float>()[i]) * static_cast<double>(direction[i]);
      }
    }
    constexpr float epsilon = 2e-3F;
    const auto loss_at = [&](float shift) {
      for (std::size_t i = 0; i < direction.size(); ++i) weight[i] = start[i] + shift * direction[i];
      return loss_of(model, batch, key);
    };
    const double numeric = (loss_at(epsilon) - loss_at(-epsilon)) / (2.0 * static_cast<double>(epsilon));
    std::memcpy(weight, start.data(), start.size() * sizeof(float));
    EXPECT_NEAR(analytic, numeric, 2e-2 * std::abs(numeric) + 2e-3) << parameter.name;
  }
}

TEST(Stage, GradientsMatchFiniteDifferencesInGpt2Style) {
  expect_gradients_by_finite_differences(odd_model());
}

TEST(Stage, GradientsMatchFiniteDifferencesInLlamaStyle) {
  ModelOptions options = odd_model();
  options.heads = 4;
  options.kv_heads = 2;
  options.head_width = 6;
  options.norm = Norm::rmsnorm;
  options.activation = Activation::swiglu;
  options.position = Position::rotary;
  options.bias = Bias::qkv;
  options.tied_embeddings = false;
  expect_gradients_by_finite_differences(options);
}

TEST(Stage, GradientsMatchFiniteDifferencesUnderDropout) {
  ModelOptions options = odd_model();
  options.dropout = 0.3;
  options.activation = Activation::gelu;
  expect_gradients_by_finite_differences(options);
}

TEST(Stage, GenerationWithTheCacheEqualsTheWholeForwardPass) {
  for (const Position position : {Position::learned, Position::rotary}) {
    ModelOptions options = odd_model();
    options.position = position;
    const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
    device::Arena arena(64 << 20);
    kernels::Gemm gemm(device, arena);
    options = resolved(options);
    const auto self = comm::make_self_communicator();
    layers::TensorAxis axis(*self, device,
                            {.kv_heads = options.kv_heads, .head_width = options.head_width, .width = options.width});
    Stage stage(device, gemm, axis, options, {whole_model(options)});
    stage.allocate_weights(arena);
    stage.allocate_generation(arena);
    stage.draw_weights(2);
    const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2};
    std::vector<float> one_by_one;
    for (const std::int32_t id : ids) {
      const auto logits = stage.continue_sequence(0, std::span(&id, 1));
      one_by_one.assign(logits.begin(), logits.end());
    }
    stage.clear_sequence();
    static_cast<void>(stage.continue_sequence(0, std::span(ids).first(3)));
    const auto logits = stage.continue_sequence(0, std::span(ids).subspan(3));
    for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], one_by_one[i], 1e-4) << i;
  }
}

TEST(Stage, ThreadsDoNotChangeABit) {
  ModelOptions options = odd_model();
  options.dropout = 0.1;
  const data::Batch batch = random_batch(options, 3);
  std::vector<std::vector<float>> gradients;
  std::vector<double> losses;
  for (const int threads : {1, 2, 3}) {
    support::SmallModel model({.model = options, .sequences = 3, .num_threads = threads});
    model.stage().draw_weights(5);
    losses.push_back(model.loss_and_gradients(batch));
    std::vector<float> all;
    for (const tensor::Parameter& parameter : model.stage().parameters().all()) {
      const auto* values = parameter.gradient.as<float>();
      all.insert(all.end(), values, values + parameter.gradient.size());
    }
    gradients.push_back(all);
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[0], losses[2]);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
}

TEST(Stage, EvaluationLeavesTheGradientsAlone) {
  const ModelOptions options = odd_model();
  const data::Batch batch = random_batch(options, 3);
  support::SmallModel model({.model = options, .sequences = 3});
  model.stage().draw_weights(5);
  const double loss = model.loss_and_gradients(batch);
  CrossEntropyLoss evaluated(batch.counted());
  model.stage().evaluate(0, batch, evaluated, nullptr);
  EXPECT_NEAR(evaluated.value(model.self()), loss, 1e-6);
  EXPECT_EQ(model.loss_and_gradients(batch), loss);
}

}  // namespace
}  // namespace trireme::model
