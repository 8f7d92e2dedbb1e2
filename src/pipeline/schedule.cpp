#include "trireme/pipeline/schedule.hpp"

namespace trireme::pipeline {

ActionList one_forward_one_backward(std::int64_t micro_batches) {
  ActionList actions;
  for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    actions.push_back({ActionKind::forward, micro_batch});
    actions.push_back({ActionKind::backward, micro_batch});
  }
  return actions;
}

}  // namespace trireme::pipeline
