// The transfers of a stage, derived from the order in which it computes: the same for every schedule.
#pragma once

#include "trireme/pipeline/schedule.hpp"

namespace trireme::pipeline {

/// `compute` with its transfers. Sends start right after the action that made the message. The receive of a gradient is
/// posted as soon as its output is on its way. The receive of an input is posted at most one forward ahead, once a slot
/// is free: no more slots are taken than computing alone would need, in each chunk and in the whole stage.
[[nodiscard]] ActionList with_transfers(const ActionList& compute, int stages, int chunks, int stage);

}  // namespace trireme::pipeline
