#include "plan/stage_plan.hpp"

#include <algorithm>

namespace trireme::plan {
namespace {

using comm::Axis;

constexpr double fp32_bytes = 4;
constexpr double bytes_of_norm = 4;     // gradients read
constexpr double bytes_of_update = 28;  // gradient, weight and two moments read, all but the gradient written

double compute_bytes(const config::Deck& deck) {
  return static_cast<double>(size_of(deck.precision.compute_type()));
}

/// Of an own weight; in half precision a second pass reads the new master and writes it rounded.
double update_bytes(const config::Deck& deck) {
  const bool rounds = deck.precision.compute_type() != Dtype::f32;
  return bytes_of_update + (rounds ? fp32_bytes + compute_bytes(deck) : 0);
}

bool holds_table(const std::vector<model::ChunkRange>& chunks) {
  return std::any_of(chunks.begin(), chunks.end(), [](const auto& chunk) { return chunk.embedding; });
}

bool holds_head(const std::vector<model::ChunkRange>& chunks) {
  return std::any_of(chunks.begin(), chunks.end(), [](const auto& chunk) { return chunk.head; });
}

/// Weights of tensor rank 0.
std::int64_t held_parameters(const StageOptions& options, const std::vector<model::ChunkRange>& chunks) {
  const Plan& plan = options.plan;
  const layers::Range slices{.begin = 0, .count = plan.slices / plan.grid[Axis::tensor]};
  std::int64_t count = 0;
  for (const model::ChunkRange& chunk : chunks) {
    count += model::held_parameter_count(options.deck.model, chunk, plan.slices, slices, holds_table(chunks));
  }
  return count;
}

/// Gradients that are summed: a tied table has a second one where both ends are.
double gradient_bytes(const StageOptions& options, const std::vector<model::ChunkRange>& chunks, double parameters) {
  const model::ModelOptions& model = options.deck.model;
  const bool second = model.tied_embeddings && holds_table(chunks) && holds_head(chunks);
  const double table =
      static_cast<double>(model.vocab) * static_cast<double>(model.width) / options.plan.grid[Axis::tensor];
  return fp32_bytes * (parameters + (second ? table : 0));
}

/// Seconds of a pass: nothing hides what the tensor axis sends.
double pass_s(const Work& work, const StageOptions& options, AxisTraffic& tensor) {
  const MachineRates& rates = options.rates;
  const double sending_s = transfer_s(work.tensor, link_along(Axis::tensor, options.plan.grid, rates));
  const auto count = static_cast<double>(options.plan.micro_batches);
  tensor.messages += count * work.tensor.messages;
  tensor.sent_bytes += count * work.tensor.bytes;
  tensor.time_s += count * sending_s;
  tensor.exposed_s = tensor.time_s;
  const double gemm_rate = rates.gemm_rate(options.deck.precision.compute_type());
  return work.flop / gemm_rate + work.memory_bytes / rates.triad_bytes_per_s + sending_s;
}

pipeline::Durations durations_of(const StageOptions& options, const model::ChunkRange& chunk, AxisTraffic& tensor) {
  const config::Deck& deck = options.deck;
  const WorkShape shape{.rows = options.plan.micro_batch * deck.model.context,
                        .tensor_ranks = options.plan.grid[Axis::tensor],
                        .compute = deck.precision.compute_type()};
  const PassWork work = chunk_work(deck.model, chunk, deck.recompute, shape);
  return {.forward_s = pass_s(work.forward, options, tensor),
          .backward_input_s = pass_s(work.backward_input, options, tensor),
          .backward_weight_s = pass_s(work.backward_weight, options, tensor)};
}

/// Adds an exchange that happens `count` times, each beneath `cover_s` of work; returns what is exposed of all.
double add(AxisTraffic& traffic, const Exchange& exchange, double count, double cover_s, double buckets) {
  const double exposed = count * exposed_s(exchange.time_s, cover_s, buckets);
  traffic.messages += count * exchange.sent.messages;
  traffic.sent_bytes += count * exchange.sent.bytes;
  traffic.time_s += count * exchange.time_s;
  traffic.exposed_s += exposed;
  return exposed;
}

/// ZeRO 3: every forward and every backward pass gathers the weights of its chunk.
void gather_for_passes(StageTimes& times, double parameter_bytes, const DataShape& shape, double micro_batches) {
  const auto chunks = static_cast<double>(times.durations.size());
  DataShape of_chunk = shape;
  of_chunk.buckets = std::max(1.0, shape.buckets / chunks);
  const Exchange gather = gather_inside(parameter_bytes / chunks, of_chunk);
  for (pipeline::Durations& of : times.durations) {
    for (double* pass_s : {&of.forward_s, &of.backward_input_s}) {
      *pass_s += add(times.data, gather, micro_batches, *pass_s, of_chunk.buckets) / micro_batches;
    }
  }
}

}  // namespace

const Link& link_along(Axis axis, const comm::GridShape& grid, const MachineRates& rates) {
  int span = grid[Axis::tensor];  // ranks of consecutive numbers that hold a whole line of the axis
  if (axis != Axis::tensor) span *= grid[Axis::data];
  if (axis == Axis::pipeline) span *= grid[Axis::pipeline];
  const int host = rates.ranks_per_host;
  const bool fits = host == 0 || grid.size() <= host || host % span == 0;
  return grid[axis] == 1 || fits ? rates.inside : rates.outside;
}

StageTimes plan_stage(const StageOptions& options, const std::vector<model::ChunkRange>& chunks) {
  const Plan& plan = options.plan;
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  StageTimes times;
  times.stage.chunks = chunks;
  times.stage.parameters = held_parameters(options, chunks);
  for (const model::ChunkRange& chunk : chunks) times.durations.push_back(durations_of(options, chunk, times.tensor));

  double blocks = 0;
  for (const model::ChunkRange& chunk : chunks) blocks += static_cast<double>(chunk.num_blocks);
  const DataShape shape{.ranks = plan.grid[Axis::data],
                        .group = plan.group,
                        .link = link_along(Axis::data, plan.grid, options.rates),
                        .buckets = std::max(1.0, blocks)};
  const auto parameters = static_cast<double>(times.stage.parameters);
  const double weights = compute_bytes(options.deck) * parameters;
  const double gradients = gradient_bytes(options, chunks, parameters);
  const bool weights_shared = options.deck.sharding.zero_stage == 3;
  if (weights_shared) gather_for_passes(times, weights, shape, micro_batches);

  double backward_s = 0;
  for (const pipeline::Durations& of : times.durations) {
    backward_s += of.backward_input_s + of.backward_weight_s;
    times.stage.compute_s += micro_batches * (of.forward_s + of.backward_input_s + of.backward_weight_s);
  }
  const double rounds = plan.gradients_shared ? micro_batches : 1;
  times.stage.reduce_s += add(times.data, reduce_inside(gradients, shape), rounds, backward_s, shape.buckets);
  times.stage.reduce_s += add(times.data, reduce_across(gradients, shape), 1, backward_s, shape.buckets);
  const double own = parameters / plan.group;
  const double update_s = own * update_bytes(options.deck) / options.rates.triad_bytes_per_s;
  times.stage.update_s = own * bytes_of_norm / options.rates.triad_bytes_per_s + update_s;
  if (!weights_shared) {
    times.stage.update_s += add(times.data, gather_inside(weights, shape), 1, update_s, shape.buckets);
  }
  return times;
}

}  // namespace trireme::plan
