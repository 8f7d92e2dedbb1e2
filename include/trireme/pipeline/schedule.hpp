// A schedule is data: for each stage, the list of its actions.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme::pipeline {

enum class ActionKind : std::uint8_t {
  forward,  ///< of a micro-batch through this rank's layers
  backward  ///< head and loss, input and weight gradients
};

struct Action {
  ActionKind kind = ActionKind::forward;
  std::int64_t micro_batch = 0;
  bool operator==(const Action&) const = default;
};

using ActionList = std::vector<Action>;

/// One forward, one backward, of a single stage: each micro-batch goes back as soon as it arrived, so that the
/// activations of one are alive at a time, and gradients are added in the order of the micro-batches.
[[nodiscard]] ActionList one_forward_one_backward(std::int64_t micro_batches);

}  // namespace trireme::pipeline
