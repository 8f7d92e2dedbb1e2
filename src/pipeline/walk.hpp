// All stages' lists, walked together by the rules of the executor.
#pragma once

#include <vector>

#include "trireme/pipeline/schedule.hpp"
#include "trireme/pipeline/simulate.hpp"

namespace trireme::pipeline {

/// Every action at its earliest time, by stage. A stage that can never go on has fewer events than actions; a send or
/// receive that nobody answers never ends (end_s is infinite). Each action must be one that its stage can have.
[[nodiscard]] std::vector<std::vector<SimulatedEvent>> walk(const Schedule& schedule, const Timing& timing);

}  // namespace trireme::pipeline
