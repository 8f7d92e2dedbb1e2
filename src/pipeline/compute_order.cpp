#include "pipeline/compute_order.hpp"

#include <algorithm>

namespace trireme::pipeline {
namespace {

ActionList ascending(ActionKind kind, std::int64_t micro_batches) {
  ActionList actions;
  for (std::int64_t i = 0; i < micro_batches; ++i) actions.push_back({kind, i});
  return actions;
}

ActionList naive_order(std::int64_t micro_batches) {
  ActionList order;
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    order.push_back({ActionKind::forward, i});
    order.push_back({ActionKind::backward, i});
  }
  return order;
}

/// `warm_up` forwards, then a forward and a backward in turn while there are forwards left, then the other backwards.
ActionList alternate(const ActionList& forwards, const ActionList& backwards, std::int64_t warm_up) {
  ActionList order;
  auto forward = forwards.begin();
  for (; warm_up > 0 && forward != forwards.end(); --warm_up) order.push_back(*forward++);
  for (const Action& backward : backwards) {
    if (forward != forwards.end()) order.push_back(*forward++);
    order.push_back(backward);
  }
  return order;
}

/// The stage's chunks take turns, a group of p micro-batches each: upwards in the forward pass, downwards in the
/// backward pass. A last group of fewer is laid out as a full one whose missing micro-batches are left out, because in
/// a shorter one the stages would come to wait for each other in a circle.
ActionList interleaved_passes(ActionKind kind, int stages, std::int64_t micro_batches, int chunks) {
  ActionList actions;
  for (std::int64_t group = 0; group < micro_batches; group += stages) {
    for (int turn = 0; turn < chunks; ++turn) {
      const int chunk = kind == ActionKind::forward ? turn : chunks - 1 - turn;
      for (std::int64_t i = group; i < group + stages; ++i) actions.push_back({kind, i, chunk});
    }
  }
  return actions;
}

ActionList interleaved_order(int stages, std::int64_t micro_batches, int chunks, int stage) {
  const std::int64_t warm_up = 2 * (stages - stage - 1) + (chunks - 1) * stages;
  ActionList order = alternate(interleaved_passes(ActionKind::forward, stages, micro_batches, chunks),
                               interleaved_passes(ActionKind::backward, stages, micro_batches, chunks), warm_up);
  std::erase_if(order, [&](const Action& action) { return action.micro_batch >= micro_batches; });
  return order;
}

/// 1F1B whose weight passes come `delay` micro-batches after their input passes, so that every stage has
/// warm_up + 1 + delay micro-batches in flight, the last stage as many as the first.
ActionList zero_bubble_order(std::int64_t micro_batches, std::int64_t warm_up, std::int64_t delay) {
  ActionList order;
  for (const Action& action : alternate(ascending(ActionKind::forward, micro_batches),
                                        ascending(ActionKind::backward_input, micro_batches), warm_up)) {
    order.push_back(action);
    if (action.kind == ActionKind::backward_input && action.micro_batch >= delay) {
      order.push_back({ActionKind::backward_weight, action.micro_batch - delay});
    }
  }
  for (std::int64_t i = std::max<std::int64_t>(0, micro_batches - delay); i < micro_batches; ++i) {
    order.push_back({ActionKind::backward_weight, i});
  }
  return order;
}

}  // namespace

ActionList compute_order(ScheduleKind kind, int stages, std::int64_t micro_batches, int chunks, int stage) {
  const std::int64_t stages_after = stages - stage - 1;
  switch (kind) {
    case ScheduleKind::naive:
      return naive_order(micro_batches);
    case ScheduleKind::gpipe:
      return alternate(ascending(ActionKind::forward, micro_batches), ascending(ActionKind::backward, micro_batches),
                       micro_batches);
    case ScheduleKind::interleaved:
      if (chunks > 1) return interleaved_order(stages, micro_batches, chunks, stage);
      [[fallthrough]];
    case ScheduleKind::one_forward_one_backward:
      return alternate(ascending(ActionKind::forward, micro_batches), ascending(ActionKind::backward, micro_batches),
                       stages_after);
    case ScheduleKind::zero_bubble:
      return zero_bubble_order(micro_batches, stages_after, stage);
    case ScheduleKind::zero_bubble_h2:
      return zero_bubble_order(micro_batches, 2 * stages_after, 2 * stage);
  }
  return {};
}

}  // namespace trireme::pipeline
