#include "train/trainer.hpp"

#include <array>
#include <cmath>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/base/units.hpp"
#include "trireme/layers/slices.hpp"
#include "trireme/optim/lanes.hpp"
#include "trireme/train/train.hpp"

namespace trireme::train {

using comm::Axis;

namespace {

std::string legal_data_sizes(std::int64_t micro_batches) {
  std::string sizes;
  for (std::int64_t size = 1; size <= micro_batches; ++size) {
    if (micro_batches % size == 0) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
  }
  return sizes;
}

/// The slices of the tensor dimension.
layers::TensorAxisOptions tensor_options(const config::Deck& deck, int tensor_size) {
  const model::ModelOptions& model = deck.model;
  return {
      .slices = layers::resolve_slices(deck.numerics.tensor_slices,
                                       {.heads = model.heads, .kv_heads = model.kv_heads, .mlp_width = model.mlp_width},
                                       tensor_size, deck.numerics.grid_invariant),
      .kv_heads = model.kv_heads,
      .head_width = model.head_width,
      .width = model.width};
}

/// This rank's chunks.
std::vector<model::ChunkRange> own_chunks(const config::Deck& deck, const comm::ProcessGrid& grid) {
  const pipeline::Schedule schedule = schedule_of(deck, grid.shape());
  const std::vector<model::ChunkRange> all =
      model::partition(deck.model, schedule.stages, schedule.chunks,
                       schedule.stages == 1 ? std::vector<std::int64_t>{} : deck.pipeline.layers_per_stage);
  std::vector<model::ChunkRange> own;
  for (auto at = static_cast<std::size_t>(grid.coordinate(Axis::pipeline)); at < all.size();
       at += static_cast<std::size_t>(schedule.stages)) {
    own.push_back(all[at]);
  }
  return own;
}

optim::WeightsOptions weights_options(const config::Deck& deck, const model::Stage& stage) {
  optim::WeightsOptions options{.sharded = deck.sharding.zero_stage == 3};
  if (!stage.block_buckets().empty()) options.in_turn.push_back({.buckets = stage.block_buckets()});
  return options;
}

/// Whole gradients are kept where their sum must run in lanes over several micro-batches: there a grid-invariant step
/// of ZeRO 2 or 3 has the gradients of ZeRO 1.
optim::GradientSyncOptions sync_options(const config::Deck& deck, int data_size) {
  const StepLayout layout = lay_out_step(deck, data_size);
  const bool in_lanes = deck.numerics.grid_invariant && layout.micro_batches > 1;
  return {.micro_batches = layout.micro_batches,
          .lanes = layout.lanes,
          .sharded = deck.sharding.zero_stage >= 2 && !in_lanes,
          .overlapped = deck.comm.overlap};
}

void append(std::vector<checkpoint::Piece>& pieces, const optim::StatePiece& state) {
  const auto add = [&](const char* group, float* data) {
    if (data == nullptr) return;
    pieces.push_back({.name = group + state.parameter->name,
                      .global_shape = state.parameter->global_shape,
                      .dtype = Dtype::f32,
                      .rectangle = state.rectangle,
                      .data = data});
  };
  add("weights/", state.weight);
  add("moments/first/", state.first_moment);
  add("moments/second/", state.second_moment);
}

}  // namespace

StepLayout lay_out_step(const config::Deck& deck, int data_size) {
  const std::int64_t total = deck.batch.global / deck.batch.micro;
  if (total % data_size != 0) {
    throw InputError(
        fmt::format("`batch.global` = `{}` with `batch.micro` = `{}` makes {} micro-batches, which {} data ranks "
                    "cannot share evenly "
                    "(`grid.data`) use a data size of {}, or change the batch",
                    deck.batch.global, deck.batch.micro, total, data_size, legal_data_sizes(total)));
  }
  const std::int64_t lanes =
      optim::resolve_lanes(deck.numerics.data_lanes, total, data_size, deck.numerics.grid_invariant);
  return {.micro_batches = total / data_size, .lanes = std::max<std::int64_t>(1, lanes / data_size)};
}

pipeline::Schedule schedule_of(const config::Deck& deck, const comm::GridShape& grid) {
  const std::int64_t micro_batches = lay_out_step(deck, grid[Axis::data]).micro_batches;
  const int stages = grid[Axis::pipeline];
  if (stages == 1) return pipeline::make_schedule(pipeline::ScheduleKind::one_forward_one_backward, 1, micro_batches);
  const auto kind = pipeline::schedule_kind(deck.pipeline.schedule);
  TRIREME_EXPECT(kind.has_value());
  return pipeline::make_schedule(*kind, stages, micro_batches, static_cast<int>(deck.pipeline.chunks));
}

Trainer::Trainer(const device::Device& device, comm::ProcessGrid& grid, const config::Deck& deck, device::Arena& arena)
    : deck_(deck),
      grid_(grid),
      chunks_(own_chunks(deck, grid)),
      tensor_axis_(grid.along(Axis::tensor), device, tensor_options(deck, grid.size(Axis::tensor))),
      data_axis_(grid.along(Axis::data), optim::resolve_group(deck.sharding, grid.size(Axis::data))),
      gemm_(device, arena),
      stage_(device, gemm_, tensor_axis_, deck.model, chunks_, deck.recompute),
      weights_(device, stage_.parameters(), data_axis_, arena, weights_options(deck, stage_)),
      gradients_(device, data_axis_, weights_, arena, sync_options(deck, grid.size(Axis::data))),
      optimizer_(device, weights_, gradients_, data_axis_, grid.world(), arena, deck.optimizer),
      tied_weights_(grid.along(Axis::pipeline), deck.model, weights_, gradients_),
      executor_(schedule_of(deck, grid.shape()), grid.along(Axis::pipeline)) {
  stage_.allocate_training(arena, deck.batch.micro, executor_.stage_slots());
}

std::array<std::int64_t, device::num_memory_classes> planned_memory(const config::Deck& deck,
                                                                    const comm::GridShape& grid,
                                                                    const comm::GridShape& coordinates,
                                                                    int num_threads) {
  const auto world = comm::make_planned_communicator(grid.rank_of(coordinates), grid.size());
  comm::ProcessGrid planned(*world, grid, comm::ProcessGrid::Planned{});
  const device::Device device({.num_threads = num_threads, .isa = device::detect_isa()});
  device::Arena arena;
  static_cast<void>(Trainer(device, planned, deck, arena));
  std::array<std::int64_t, device::num_memory_classes> bytes{};
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    bytes[c] = static_cast<std::int64_t>(arena.used_bytes(static_cast<device::MemoryClass>(c)));
  }
  return bytes;
}

void Trainer::start_fresh() {
  weights_.draw(deck_.run.seed);
}

void Trainer::load(checkpoint::Reader& reader) {
  std::vector<checkpoint::Piece> wanted;
  for (const optim::StatePiece& state : optimizer_.state()) append(wanted, state);
  reader.read(wanted);
  optimizer_.share_loaded_state();
  skipped_ = reader.metadata().skipped;
}

StepResult Trainer::step(std::int64_t step, const data::StepBatch& batch, std::vector<pipeline::Event>* events,
                         const Timer& clock) {
  const auto timed = [&](const char* name, const auto& work) {
    const double begin = clock.seconds();
    work();
    if (events == nullptr) return;
    events->push_back(
        {.row = grid_.coordinate(Axis::pipeline), .name = name, .begin_s = begin, .end_s = clock.seconds()});
  };
  StepResult result;
  std::int64_t counted = 0;
  for (const data::Batch& micro_batch : batch.micro_batches) counted += micro_batch.counted();
  result.counted = grid_.along(Axis::data).all_reduce_sum(counted);

  model::CrossEntropyLoss loss(result.counted);
  gradients_.begin_step();
  executor_.run(stage_, batch,
                {.key = {.seed = deck_.run.seed, .step = static_cast<std::uint64_t>(step)},
                 .loss = loss,
                 .weights = weights_,
                 .gradients = gradients_},
                events, clock);
  timed("reduce", [&] {
    gradients_.finish();
    tied_weights_.send_gradient();
  });

  result.loss = loss.value(grid_.world());
  timed("norm", [&] { result.gradient_norm = optimizer_.gradient_norm(); });
  result.learning_rate = optim::learning_rate(deck_.learning_rate, step + 1, deck_.run.steps);
  if (!std::isfinite(result.loss) || !std::isfinite(result.gradient_norm)) {
    result.skipped = true;
    ++skipped_;
    return result;
  }
  timed("update", [&] {
    optimizer_.update(result.learning_rate, optim::clip_factor(result.gradient_norm, deck_.optimizer.clip_norm),
                      step + 1 - skipped_, [&](int bucket) { tied_weights_.bucket_updated(bucket); });
    tied_weights_.finish();
  });
  return result;
}

pipeline::Evaluation Trainer::evaluate(const data::ValidationSet& validation) {
  return pipeline::evaluate(stage_, validation, grid_, &weights_);
}

std::vector<checkpoint::Piece> Trainer::pieces() {
  std::vector<checkpoint::Piece> pieces;
  for (const optim::StatePiece& state : optimizer_.state()) {
    if (state.counted) append(pieces, state);
  }
  return pieces;
}

std::int64_t Trainer::owned_elements() {
  std::int64_t elements = 0;
  for (const optim::StatePiece& state : optimizer_.state()) {
    if (state.counted) elements += state.rectangle.extent.size();
  }
  return elements;
}

std::string Trainer::describe_groups() const {
  return optim::describe_decay_groups(grid_.along(Axis::pipeline).all_gather_text(optimizer_.decay_lines()));
}

std::string Trainer::describe_traffic() const {
  if (tensor_axis_.size() == 1) return {};
  constexpr std::array<const char*, layers::num_traffic_kinds> names{"embedding", "attention", "mlp", "norms", "head"};
  std::string text = "sent along the tensor axis by rank 0:";
  for (std::size_t kind = 0; kind < names.size(); ++kind) {
    const layers::TrafficCount& count = tensor_axis_.traffic()[kind];
    text += fmt::format("\n  {:<10}{:>12} exchanges{:>12}", names[kind], count.calls,
                        format_bytes(static_cast<std::uint64_t>(count.sent_bytes)));
  }
  return text;
}

std::string Trainer::layers_text() const {
  std::string text;
  for (const model::ChunkRange& chunk : chunks_) {
    if (chunk.num_blocks == 0) continue;
    text += fmt::format("{}{}-{}", text.empty() ? "" : ", ", chunk.first_block, chunk.end_block() - 1);
  }
  return text;
}

}  // namespace trireme::train
