// The proof that a schedule can run.
#pragma once

#include <string>
#include <vector>

#include "trireme/pipeline/schedule.hpp"

namespace trireme::pipeline {

/// What is wrong with a schedule, a sentence each; empty when it is sound:
/// - every action of every micro-batch and chunk is there once, none too many;
/// - each comes after what it needs on its own stage; forwards, input and weight passes ascend in each chunk;
/// - sends and receives of each direction and chunk have the same order on both sides;
/// - all lists run to their ends when a send completes only once its receive is posted, and a slot is taken again only
///   once the sends of its last holder are complete;
/// - no stage holds more activations at a time than live_bound().
[[nodiscard]] std::vector<std::string> check(const Schedule& schedule);

}  // namespace trireme::pipeline
