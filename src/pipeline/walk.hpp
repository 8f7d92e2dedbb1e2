// All stages' lists, walked together by the rules of the executor.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/pipeline/schedule.hpp"
#include "trireme/pipeline/simulate.hpp"

namespace trireme::pipeline {

/// Which of the two numberings of slots.hpp says whose sends an action waits for when it takes an activation slot.
enum class SlotNumbering : std::uint8_t { by_chunk, by_stage };

/// Every action at its earliest time, by stage. A stage that can never go on has fewer events than actions; a send or
/// receive that nobody answers never ends (end_s is infinite). Each action must be one that its stage can have.
[[nodiscard]] std::vector<std::vector<SimulatedEvent>> walk(const Schedule& schedule, const Timing& timing,
                                                            SlotNumbering numbering);

}  // namespace trireme::pipeline
