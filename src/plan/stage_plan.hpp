// One stage of a plan.
#pragma once

#include "trireme/plan/plan.hpp"

#include "plan/data_exchange.hpp"

namespace trireme::plan {

/// What all stages have in common.
struct StageOptions {
  const config::Deck& deck;
  const MachineRates& rates;
  const Plan& plan;  ///< grid, micro-batches, slices and sharding are set
};

/// A stage, with what the simulation and the totals want of it.
struct StageTimes {
  StagePlan stage;
  std::vector<pipeline::Durations> durations;  ///< by chunk
  AxisTraffic tensor, data;                    ///< of a step
};

[[nodiscard]] StageTimes plan_stage(const StageOptions& options, const std::vector<model::ChunkRange>& chunks);

/// The link that an axis uses: inside a host where no line of its ranks crosses to another.
[[nodiscard]] const Link& link_along(comm::Axis axis, const comm::GridShape& grid, const MachineRates& rates);

}  // namespace trireme::plan
