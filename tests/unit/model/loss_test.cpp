#include "trireme/model/loss.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "trireme/comm/communicator.hpp"

namespace trireme::model {
namespace {

TEST(CrossEntropyLoss, DividesTheWeightedSumByTheCountOfTheWholeBatch) {
  const auto self = comm::make_self_communicator();
  CrossEntropyLoss loss(4);
  const std::vector<float> weights{1, 0, 1, 2};
  std::vector<float> coefficients(4);
  loss.coefficients(weights, coefficients);
  EXPECT_EQ(coefficients, (std::vector<float>{0.25F, 0, 0.25F, 0.5F}));
  loss.add(weights, std::vector<float>{-1, -100, -2, -3});
  EXPECT_EQ(loss.value(*self), (1 + 2 + 2 * 3) / 4.0);
}

TEST(CrossEntropyLoss, IsZeroWithoutACountedToken) {
  const auto self = comm::make_self_communicator();
  CrossEntropyLoss loss(0);
  std::vector<float> coefficients(2, 7.0F);
  loss.coefficients(std::vector<float>{0, 0}, coefficients);
  EXPECT_EQ(coefficients, (std::vector<float>{0, 0}));
  EXPECT_EQ(loss.value(*self), 0);
}

TEST(CrossEntropyLoss, DoesNotDependOnTheOrderOfItsParts) {
  const auto self = comm::make_self_communicator();
  std::vector<float> log_probability;
  for (int n = 0; n < 1000; ++n) log_probability.push_back(-1.0F / static_cast<float>(1 + n * n % 977));
  const std::vector<float> weights(1000, 1.0F);
  CrossEntropyLoss forward(1000);
  forward.add(weights, log_probability);
  CrossEntropyLoss backward(1000);
  for (std::size_t n = 1000; n-- > 0;)
    backward.add(std::span(weights).subspan(n, 1), std::span(log_probability).subspan(n, 1));
  EXPECT_EQ(forward.value(*self), backward.value(*self));
}

}  // namespace
}  // namespace trireme::model
