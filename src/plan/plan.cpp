#include "trireme/plan/plan.hpp"

#include <algorithm>

#include "trireme/config/fit.hpp"
#include "trireme/layers/slices.hpp"
#include "trireme/model/counts.hpp"
#include "trireme/optim/data_axis.hpp"

#include "plan/stage_plan.hpp"

namespace trireme::plan {
namespace {

using comm::Axis;

/// One stage runs plain.
pipeline::Schedule schedule_of(const config::Deck& deck, int stages, std::int64_t micro_batches) {
  if (stages == 1) return pipeline::make_schedule(pipeline::ScheduleKind::one_forward_one_backward, 1, micro_batches);
  const pipeline::ScheduleKind kind = pipeline::schedule_kind(deck.pipeline.schedule).value();
  return pipeline::make_schedule(kind, stages, micro_batches, static_cast<int>(deck.pipeline.chunks));
}

/// The numbers that the grid decides.
Plan laid_out(const config::Deck& deck, const comm::GridShape& grid) {
  const model::ModelOptions& m = deck.model;
  const bool invariant = deck.numerics.grid_invariant;
  Plan plan;
  plan.grid = grid;
  plan.micro_batch = config::resolve_micro(deck, grid[Axis::data]);
  plan.micro_batches = deck.batch.global / plan.micro_batch / grid[Axis::data];
  plan.slices = layers::resolve_slices(deck.numerics.tensor_slices,
                                       {.heads = m.heads, .kv_heads = m.kv_heads, .mlp_width = m.mlp_width},
                                       grid[Axis::tensor], invariant);
  plan.group = optim::resolve_group(deck.sharding, grid[Axis::data]);
  plan.gradients_shared = deck.sharding.zero_stage >= 2 && !(invariant && plan.micro_batches > 1);
  plan.schedule = schedule_of(deck, grid[Axis::pipeline], plan.micro_batches);
  return plan;
}

/// The chunks of each stage.
std::vector<std::vector<model::ChunkRange>> chunks_by_stage(const config::Deck& deck,
                                                            const pipeline::Schedule& schedule) {
  const auto stages = static_cast<std::size_t>(schedule.stages);
  const std::vector<model::ChunkRange> parts =
      model::partition(deck.model, schedule.stages, schedule.chunks,
                       stages == 1 ? std::vector<std::int64_t>{} : deck.pipeline.layers_per_stage);
  std::vector<std::vector<model::ChunkRange>> chunks(stages);
  for (std::size_t part = 0; part < parts.size(); ++part) chunks[part % stages].push_back(parts[part]);
  return chunks;
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
  AxisTraffic tensor, data;
  pipeline::Timing timing;
  for (const std::vector<model::ChunkRange>& chunks : chunks_by_stage(deck, plan.schedule)) {
    StageTimes times = plan_stage({.deck = deck, .rates = rates, .plan = plan}, chunks);
    keep_busiest(tensor, times.tensor);
    keep_busiest(data, times.data);
    timing.durations.push_back(std::move(times.durations));
    plan.stages.push_back(std::move(times.stage));
  }
  const Link& link = link_along(Axis::pipeline, grid, rates);
  const Sent message{.messages = 1,
                     .bytes = 4.0 * static_cast<double>(plan.micro_batch * m.context * m.width) / grid[Axis::tensor]};
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
  plan.mfu = plan.flop_per_step / plan.step_time_s / (rates.gemm_flop_per_s * grid.size());
  if (memory_of) {
    for (const int rank : ranks_to_lay_out(grid)) plan.memory.push_back(memory_of(grid.coordinates_of(rank)));
  }
  return plan;
}

}  // namespace trireme::plan
