#include "train/trainer.hpp"

#include <array>
#include <cmath>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/base/units.hpp"
#include "trireme/train/layout.hpp"
#include "trireme/train/train.hpp"

#include "train/culprit.hpp"

namespace trireme::train {

using comm::Axis;

namespace {

layers::TensorAxisOptions tensor_options(const config::Deck& deck, int tensor_size) {
  const model::ModelOptions& model = deck.model;
  return {.slices = num_tensor_slices(deck, tensor_size),
          .kv_heads = model.kv_heads,
          .head_width = model.head_width,
          .width = model.width,
          .compute = deck.precision.compute_type()};
}

optim::WeightsOptions weights_options(const config::Deck& deck, const model::Stage& stage) {
  optim::WeightsOptions options{.sharded = deck.sharding.zero_stage == 3, .compute = deck.precision.compute_type()};
  if (!stage.block_buckets().empty()) options.in_turn.push_back({.buckets = stage.block_buckets()});
  return options;
}

optim::GradientSyncOptions sync_options(const config::Deck& deck, int data_size) {
  const StepLayout layout = lay_out_step(deck, data_size);
  return {.micro_batches = layout.micro_batches,
          .lanes = layout.lanes,
          .sharded = layout.shares_gradients,
          .overlapped = deck.comm.overlap};
}

optim::LossScaleOptions loss_scale_options(const config::PrecisionOptions& precision) {
  return {.dynamic = precision.compute_type() == Dtype::f16,
          .initial = precision.loss_scale_initial,
          .window = precision.loss_scale_window};
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

Trainer::Trainer(const device::Device& device, comm::ProcessGrid& grid, const config::Deck& deck, device::Arena& arena)
    : device_(device),
      deck_(deck),
      grid_(grid),
      chunks_(chunks_of(deck, schedule_of(deck, grid.shape()), grid.coordinate(Axis::pipeline))),
      tensor_axis_(grid.along(Axis::tensor), device, tensor_options(deck, grid.size(Axis::tensor))),
      data_axis_(grid.along(Axis::data), optim::resolve_group(deck.sharding, grid.size(Axis::data))),
      gemm_(device, arena, deck.precision.compute_type()),
      stage_(device, gemm_, tensor_axis_, deck.model, chunks_, deck.recompute),
      weights_(device, stage_.parameters(), data_axis_, arena, weights_options(deck, stage_)),
      gradients_(device, data_axis_, weights_, arena, sync_options(deck, grid.size(Axis::data))),
      optimizer_(device, weights_, gradients_, data_axis_, grid.world(), arena, deck.optimizer),
      audit_({device, grid, tensor_axis_, data_axis_, weights_, optimizer_}, deck.model),
      tied_weights_(grid.along(Axis::pipeline), deck.model, weights_, gradients_),
      executor_(schedule_of(deck, grid.shape()), grid.along(Axis::pipeline)),
      watch_(device, grid.size(Axis::pipeline), grid.coordinate(Axis::pipeline), stage_.num_chunks()),
      loss_scale_(loss_scale_options(deck.precision)) {
  gemm_.call_between([this] {
    weights_.poll();
    gradients_.poll();
  });
  executor_.let_watch(watch_);
  stage_.allocate_training(arena, deck.batch.micro, executor_.stage_slots());
  if (deck.numerics.trace && !arena.measuring()) {
    fingerprints_.emplace(device, grid.world(), tensor_axis_, data_axis_, weights_, optimizer_, gradients_,
                          deck.model.layers);
  }
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
  // A run of another precision has no loss scale to go on with.
  const config::Deck stored = config::parse_deck(reader.metadata().deck, "the checkpoint's deck", {});
  if (stored.precision.compute == deck_.precision.compute) {
    loss_scale_.restore(reader.metadata().loss_scale, reader.metadata().loss_scale_good_steps);
  }
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

  result.loss_scale = loss_scale_.scale();
  model::CrossEntropyLoss loss(result.counted, result.loss_scale);
  gradients_.begin_step();
  watch_.begin_step();
  if (fingerprints_) fingerprints_->begin_step();
  executor_.run(stage_, batch,
                {.key = {.seed = deck_.run.seed, .step = static_cast<std::uint64_t>(step)},
                 .loss = loss,
                 .weights = weights_,
                 .gradients = gradients_,
                 .fingerprints = fingerprints_ ? &fingerprints_->passes() : nullptr},
                events, clock);
  timed("reduce", [&] {
    gradients_.finish();
    tied_weights_.send_gradient();
  });
  if (fingerprints_) fingerprints_->take_gradients();

  result.loss = loss.value(grid_.world());
  timed("norm", [&] { result.gradient_norm = optimizer_.gradient_norm() / result.loss_scale; });
  result.learning_rate = optim::learning_rate(deck_.learning_rate, step + 1, deck_.run.steps);
  result.outcome = outcome_of(result);
  nonfinite_in_a_row_ = result.outcome == StepOutcome::nonfinite ? nonfinite_in_a_row_ + 1 : 0;
  const bool overflows_for_good = result.outcome == StepOutcome::overflow && loss_scale_.exhausted();
  if (result.outcome == StepOutcome::nonfinite || overflows_for_good) result.culprit = culprit_of(batch);
  if (result.outcome != StepOutcome::updated) {
    ++skipped_;
    return result;
  }
  timed("update", [&] {
    const double clip = optim::clip_factor(result.gradient_norm, deck_.optimizer.clip_norm);
    optimizer_.update(result.learning_rate, clip / result.loss_scale, step + 1 - skipped_,
                      [&](int bucket) { tied_weights_.bucket_updated(bucket); });
    tied_weights_.finish();
  });
  return result;
}

std::vector<Fingerprint> Trainer::fingerprints(const StepResult& result) {
  TRIREME_EXPECT(fingerprints_.has_value());
  fingerprints_->take_weights();
  return fingerprints_->finish(result.loss, result.gradient_norm);
}

/// What becomes of a step with this loss and gradient norm; the same on every rank.
StepOutcome Trainer::outcome_of(const StepResult& result) {
  if (!std::isfinite(result.loss)) return StepOutcome::nonfinite;
  const bool finite = std::isfinite(result.gradient_norm);
  if (deck_.precision.compute_type() != Dtype::f16) return finite ? StepOutcome::updated : StepOutcome::nonfinite;
  loss_scale_.step_done(finite);
  return finite ? StepOutcome::updated : StepOutcome::overflow;
}

/// Collective over the grid.
std::string Trainer::culprit_of(const data::StepBatch& batch) const {
  const std::string text = find_culprit(grid_, watch_, chunks_, batch);
  return text.empty() ? find_bad_gradient(grid_, device_, weights_, gradients_) : text;
}

void Trainer::audit(std::int64_t step, bool replicas, bool finite) {
  audit_.run({.step = step,
              .skipped = skipped_,
              .loss_scale = loss_scale_.scale(),
              .loss_scale_good_steps = loss_scale_.good_steps()},
             replicas, finite);
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
