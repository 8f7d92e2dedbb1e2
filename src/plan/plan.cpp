#include "trireme/plan/plan.hpp"

#include <algorithm>

#include "trireme/model/counts.hpp"
#include "trireme/optim/data_axis.hpp"
#include "trireme/train/layout.hpp"

#include "plan/stage_plan.hpp"

namespace trireme::plan {
namespace {

using comm::Axis;

/// The numbers that the grid decides.
Plan laid_out(const config::Deck& deck, const comm::GridShape& grid) {
  const train::StepLayout step = train::lay_out_step(deck, grid[Axis::data]);
  Plan plan;
  plan.grid = grid;
  plan.micro_batch = deck.batch.micro;
  plan.micro_batches = step.micro_batches;
  plan.slices = train::num_tensor_slices(deck, grid[Axis::tensor]);
  plan.group = optim::resolve_group(deck.sharding, grid[Axis::data]);
  plan.gradients_shared = step.shares_gradients;
  plan.schedule = pipeline::make_schedule(train::schedule_of(deck, grid));
  return plan;
}

void keep_busiest(AxisTraffic& most, const AxisTraffic& traffic) {
  if (traffic.sent_bytes > most.sent_bytes) most = traffic;
}

/// Each chunk sends its output and the gradient of its input; the ends of the model lack one of them, and with two
/// stages every stage has an end.
AxisTraffic pipeline_traffic(const Plan& plan, const Sent& message, const Link& link) {
  const int stages = plan.schedule.stages;
  AxisTraffic traffic;
  if (stages == 1) return traffic;
  const int sends = 2 * plan.schedule.chunks - (stages == 2 ? 1 : 0);
  traffic.messages = static_cast<double>(sends * plan.micro_batches);
  traffic.sent_bytes = traffic.messages * message.bytes;
  traffic.time_s = traffic.messages * transfer_s(message, link);
  return traffic;
}

/// When a stage's last pass ends.
std::vector<double> ends_of_stages(const pipeline::Simulation& simulation, std::size_t stages) {
  std::vector<double> ends(stages, 0);
  for (const pipeline::SimulatedEvent& event : simulation.events) {
    double& end = ends[static_cast<std::size_t>(event.stage)];
    end = std::max(end, event.end_s);
  }
  return ends;
}

}  // namespace

std::vector<int> ranks_to_lay_out(const comm::GridShape& grid) {
  constexpr int all_up_to = 64;
  std::vector<int> ranks;
  for (int rank = 0; rank < grid.size(); ++rank) {
    const comm::GridShape at = grid.coordinates_of(rank);
    const auto at_end = [&](Axis axis) { return at[axis] == 0 || at[axis] == grid[axis] - 1; };
    if (grid.size() <= all_up_to || (at_end(Axis::tensor) && at_end(Axis::data))) ranks.push_back(rank);
  }
  return ranks;
}

Plan make_plan(const config::Deck& deck, const comm::GridShape& grid, const MachineRates& rates,
               const MemoryOf& memory_of) {
  Plan plan = laid_out(deck, grid);
  const auto& m = deck.model;
  const Dtype compute = deck.precision.compute_type();
  AxisTraffic tensor, data;
  pipeline::Timing timing;
  for (int stage = 0; stage < plan.schedule.stages; ++stage) {
    StageTimes times =
        plan_stage({.deck = deck, .rates = rates, .plan = plan}, train::chunks_of(deck, plan.schedule, stage));
    keep_busiest(tensor, times.tensor);
    keep_busiest(data, times.data);
    timing.durations.push_back(std::move(times.durations));
    plan.stages.push_back(std::move(times.stage));
  }
  const Link& link = link_along(Axis::pipeline, grid, rates);
  const Sent message{.messages = 1,
                     .bytes = static_cast<double>(size_of(compute)) *
                              static_cast<double>(plan.micro_batch * m.context * m.width) / grid[Axis::tensor]};
  timing.transfer_s = transfer_s(message, link);
  plan.simulation = pipeline::simulate(plan.schedule, timing);
  plan.traffic[static_cast<std::size_t>(Axis::tensor)] = tensor;
  plan.traffic[static_cast<std::size_t>(Axis::data)] = data;
  plan.traffic[static_cast<std::size_t>(Axis::pipeline)] = pipeline_traffic(plan, message, link);

  const std::vector<double> ends = ends_of_stages(plan.simulation, plan.stages.size());
  for (std::size_t stage = 0; stage < ends.size(); ++stage) {
    plan.step_time_s =
        std::max(plan.step_time_s, ends[stage] + plan.stages[stage].reduce_s + plan.stages[stage].update_s);
  }
  const auto tokens = static_cast<double>(deck.batch.global * m.context);
  plan.tokens_per_s = tokens / plan.step_time_s;
  plan.flop_per_step = tokens * model::flop_per_token(m);
  plan.mfu = plan.flop_per_step / plan.step_time_s / (rates.gemm_rate(compute) * grid.size());
  if (memory_of) {
    for (const int rank : ranks_to_lay_out(grid)) plan.memory.push_back(memory_of(grid.coordinates_of(rank)));
  }
  return plan;
}

}  // namespace trireme::plan
