#include "trireme/kernels/adamw.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

constexpr std::int64_t all_counts[] = {0, 1, 15, 17, 1000, 8191, 40009};

struct State {
  explicit State(std::int64_t count)
      : weight(numbers.floats({count})),
        gradient(numbers.floats({count})),
        second_gradient(numbers.floats({count})),
        first(numbers.floats({count}, -0.1, 0.1)),
        second(numbers.floats({count}, 0, 0.1)) {}

  void run(const device::Device& device, const AdamW& settings, bool tied) {
    adamw_update(device, settings, weight.tensor().size(), weight.values().data(), gradient.values().data(),
                 tied ? second_gradient.values().data() : nullptr, first.values().data(), second.values().data());
  }

  test::Numbers numbers{5};
  Array<float> weight, gradient, second_gradient, first, second;
};

// The same in double.
struct Expected {
  explicit Expected(const State& s)
      : weight(s.weight.doubles()),
        gradient(s.gradient.doubles()),
        second_gradient(s.second_gradient.doubles()),
        first(s.first.doubles()),
        second(s.second.doubles()) {}

  void run(const AdamW& a, bool tied) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double g = a.gradient_scale * (gradient[i] + (tied ? second_gradient[i] : 0));
      first[i] = a.beta1 * first[i] + (1 - a.beta1) * g;
      second[i] = a.beta2 * second[i] + (1 - a.beta2) * g * g;
      const double mean = first[i] / (1 - std::pow(a.beta1, a.update));
      const double variance = second[i] / (1 - std::pow(a.beta2, a.update));
      weight[i] -= a.learning_rate * (mean / (std::sqrt(variance) + a.epsilon) + a.weight_decay * weight[i]);
    }
  }

  std::vector<double> weight, gradient, second_gradient, first, second;
};

TEST(AdamW, MatchesTheDefinitionOverTenUpdates) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const std::int64_t count : all_counts) {
    for (const bool tied : {false, true}) {
      State state(count);
      Expected expected(state);
      for (std::int64_t update = 1; update <= 10; ++update) {
        const AdamW settings{.learning_rate = 1e-2, .weight_decay = 0.1, .gradient_scale = 0.3, .update = update};
        state.run(device, settings, tied);
        expected.run(settings, tied);
      }
      EXPECT_TRUE(test::all_near(state.weight.values(), expected.weight, 1e-6));
      EXPECT_TRUE(test::all_near(state.first.values(), expected.first, 1e-6));
      EXPECT_TRUE(test::all_near(state.second.values(), expected.second, 1e-6));
    }
  }
}

TEST(AdamW, GivesTheSameBitsOnEveryDevice) {
  const AdamW settings{.learning_rate = 1e-2, .weight_decay = 0.1, .gradient_scale = 0.3, .update = 3};
  for (const std::int64_t count : all_counts) {
    State first(count);
    first.run(device::Device({.num_threads = 1, .isa = device::Isa::generic}), settings, true);
    test::for_each_device([&](const device::Device& device) {
      State state(count);
      state.run(device, settings, true);
      EXPECT_TRUE(test::same_bits(state.weight.values(), first.weight.values()));
      EXPECT_TRUE(test::same_bits(state.first.values(), first.first.values()));
      EXPECT_TRUE(test::same_bits(state.second.values(), first.second.values()));
    });
  }
}

TEST(AdamW, UpdatesAnyPieceAsItWouldTheWhole) {
  // ZeRO gives each rank a piece that begins anywhere.
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  const AdamW settings{.learning_rate = 1e-2, .weight_decay = 0.1, .update = 1};
  State whole(1001);
  State pieces(1001);
  whole.run(device, settings, false);
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 333}, {333, 340}, {340, 1001}}) {
    adamw_update(device, settings, end - begin, pieces.weight.values().data() + begin,
                 pieces.gradient.values().data() + begin, nullptr, pieces.first.values().data() + begin,
                 pieces.second.values().data() + begin);
  }
  EXPECT_TRUE(test::same_bits(pieces.weight.values(), whole.weight.values()));
}

TEST(AdamW, LeavesWeightsOfZeroGradientThatDoNotDecay) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  State state(33);
  std::fill(state.gradient.values().begin(), state.gradient.values().end(), 0.0F);
  std::fill(state.first.values().begin(), state.first.values().end(), 0.0F);
  std::fill(state.second.values().begin(), state.second.values().end(), 0.0F);
  const std::vector<float> before = state.weight.values();
  state.run(device, {.learning_rate = 1e-2}, false);
  EXPECT_TRUE(test::same_bits(state.weight.values(), before));
}

}  // namespace
}  // namespace trireme::kernels
