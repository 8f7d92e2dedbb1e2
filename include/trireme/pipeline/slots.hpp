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
/// and send_gradient, if any, is started. There are two numberings: each chunk by itself, and all chunks of the stage
/// together, for memory that they share. Several chunks are not at their peaks at the same time, so that sharing takes
/// fewer slots (up to a third less), if each is large enough for any chunk.
///
/// A gradient slot holds what backward_input leaves for backward_weight; backward uses one for its own time. Gradient
/// slots are numbered through all chunks of the stage, so that chunks may share the memory; the numbers also fit memory
/// that each chunk has for itself, with num_gradients[chunk] slots.
struct Slots {
  std::vector<std::vector<int>> activation;        ///< numbered in each chunk
  std::vector<int> num_activations;                ///< by chunk
  std::vector<std::vector<int>> stage_activation;  ///< numbered through all chunks: peak_live slots
  std::vector<std::vector<int>> gradient;
  std::vector<int> num_gradients;  ///< one more than the highest number that a chunk uses, by chunk
  int num_stage_gradients = 0;     ///< of all chunks together
  std::int64_t peak_live = 0;      ///< most activation slots taken at a time, all chunks together
};

/// The lowest free slot each time: a pure function of the list. Expects a sound list (check.hpp); a slot is -1 where a
/// micro-batch never takes one.
[[nodiscard]] Slots assign_slots(const ActionList& actions);

}  // namespace trireme::pipeline
