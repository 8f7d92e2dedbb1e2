// Which memory a stage uses for which micro-batch.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/pipeline/schedule.hpp"

namespace trireme::pipeline {

/// Slots of one stage; tables are indexed [chunk][micro_batch].
///
/// An activation slot holds what a chunk's forward leaves for its backward, with the buffers of its four messages. It
/// is taken at receive_input (at forward where there is none) and given back when backward or backward_weight is done
/// and send_gradient, if any, is started. A gradient slot holds what backward_input leaves for backward_weight;
/// backward uses one for its own time.
///
/// Both are numbered through all chunks of the stage, for memory that they share, each slot large enough for any of
/// them: chunks are not at their peaks at the same time, so that sharing takes fewer slots (up to a third less).
struct Slots {
  std::vector<std::vector<int>> activation;
  std::vector<std::vector<int>> gradient;
  int num_gradients = 0;
  std::int64_t peak_live = 0;  ///< activation slots: the most that are taken at a time
};

/// The lowest free slot each time: a pure function of the list. Expects a sound list (check.hpp); a slot is -1 where a
/// micro-batch never takes one.
[[nodiscard]] Slots assign_slots(const ActionList& actions);

}  // namespace trireme::pipeline
