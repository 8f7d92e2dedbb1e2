// What each schedule is: the order in which a stage computes. Transfers are added to it later (transfers.hpp).
#pragma once

#include "trireme/pipeline/schedule.hpp"

namespace trireme::pipeline {

/// The compute actions of one stage, in order.
[[nodiscard]] ActionList compute_order(ScheduleKind kind, int stages, std::int64_t micro_batches, int chunks,
                                       int stage);

}  // namespace trireme::pipeline
