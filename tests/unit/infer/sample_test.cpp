#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "trireme/infer/infer.hpp"

namespace trireme::infer {
namespace {

TEST(SampleToken, TakesTheLikeliestAtTemperatureZero) {
  EXPECT_EQ(sample_token({0.5F, 2.0F, -1.0F, 2.0F}, 0, 0, 0.99), 1);
}

TEST(SampleToken, DrawsInProportionToTheProbabilities) {
  const std::vector<float> logits{std::log(0.1F), std::log(0.6F), std::log(0.3F)};
  std::vector<int> counts(3);
  for (int i = 0; i < 1000; ++i) ++counts[static_cast<std::size_t>(sample_token(logits, 1, 0, (i + 0.5) / 1000))];
  EXPECT_NEAR(counts[0], 100, 1);
  EXPECT_NEAR(counts[1], 600, 1);
  EXPECT_NEAR(counts[2], 300, 1);
}

TEST(SampleToken, LowTemperatureSharpens) {
  const std::vector<float> logits{0.0F, 1.0F};
  EXPECT_EQ(sample_token(logits, 1.0, 0, 0.2), 0);
  EXPECT_EQ(sample_token(logits, 0.1, 0, 0.2), 1);
}

TEST(SampleToken, NeverLeavesTheTopK) {
  const std::vector<float> logits{3.0F, 1.0F, 2.0F, 2.9F};
  for (int i = 0; i < 100; ++i) {
    const std::int32_t id = sample_token(logits, 5, 2, i / 100.0);
    EXPECT_TRUE(id == 0 || id == 3) << id;
  }
}

}  // namespace
}  // namespace trireme::infer
