#include "trireme/pipeline/schedule.hpp"

#include <gtest/gtest.h>

namespace trireme::pipeline {
namespace {

TEST(OneForwardOneBackward, SendsEachMicroBatchBackBeforeTheNextComes) {
  const ActionList expected{
      {ActionKind::forward, 0}, {ActionKind::backward, 0}, {ActionKind::forward, 1}, {ActionKind::backward, 1}};
  EXPECT_EQ(one_forward_one_backward(2), expected);
  EXPECT_TRUE(one_forward_one_backward(0).empty());
}

}  // namespace
}  // namespace trireme::pipeline
