#include "train/trainer.hpp"

#include <cmath>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/optim/lanes.hpp"
#include "trireme/pipeline/executor.hpp"

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

optim::GradientSyncOptions sync_options(const config::Deck& deck, int data_size) {
  const StepLayout layout = lay_out_step(deck, data_size);
  return {.micro_batches = layout.micro_batches, .lanes = layout.lanes, .keep_whole = deck.sharding.zero_stage == 0};
}

void append(std::vector<checkpoint::Piece>& pieces, const std::string& group, const optim::OwnedState& state,
            float* data) {
  pieces.push_back({.name = group + state.parameter->name,
                    .global_shape = state.parameter->global_shape,
                    .dtype = Dtype::f32,
                    .rectangle = state.rectangle,
                    .data = data});
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

Trainer::Trainer(const device::Device& device, comm::ProcessGrid& grid, const config::Deck& deck, device::Arena& arena)
    : deck_(deck),
      grid_(grid),
      gemm_(device, arena),
      stage_(device, gemm_, deck.model),
      gradients_(device, stage_.parameters(), grid.along(Axis::data), arena, sync_options(deck, grid.size(Axis::data))),
      optimizer_(device, gradients_, grid.along(Axis::data), grid.world(), arena, deck.optimizer, deck.sharding),
      actions_(pipeline::one_forward_one_backward(lay_out_step(deck, grid.size(Axis::data)).micro_batches)) {
  stage_.allocate_training(arena, deck.batch.micro);
}

void Trainer::start_fresh() {
  stage_.draw_weights(deck_.run.seed);
}

void Trainer::load(checkpoint::Reader& reader) {
  reader.read(pieces());
  optimizer_.share_loaded_state();
  skipped_ = reader.metadata().skipped;
}

StepResult Trainer::step(std::int64_t step, const data::StepBatch& batch) {
  StepResult result;
  std::int64_t counted = 0;
  for (const data::Batch& micro_batch : batch.micro_batches) counted += micro_batch.counted();
  result.counted = grid_.along(Axis::data).all_reduce_sum(counted);

  model::CrossEntropyLoss loss(result.counted);
  gradients_.begin_step();
  pipeline::run(actions_, stage_, batch, {.seed = deck_.run.seed, .step = static_cast<std::uint64_t>(step)}, loss,
                gradients_);
  gradients_.finish();

  result.loss = loss.value(grid_.along(Axis::data));
  result.gradient_norm = optimizer_.gradient_norm();
  result.learning_rate = optim::learning_rate(deck_.learning_rate, step + 1, deck_.run.steps);
  if (!std::isfinite(result.loss) || !std::isfinite(result.gradient_norm)) {
    result.skipped = true;
    ++skipped_;
    return result;
  }
  optimizer_.update(result.learning_rate, optim::clip_factor(result.gradient_norm, deck_.optimizer.clip_norm),
                    step + 1 - skipped_);
  return result;
}

pipeline::Evaluation Trainer::evaluate(const data::ValidationSet& validation) {
  return pipeline::evaluate(stage_, validation, grid_.along(Axis::data));
}

std::vector<checkpoint::Piece> Trainer::pieces() {
  std::vector<checkpoint::Piece> pieces;
  for (const optim::OwnedState& state : optimizer_.owned_state()) {
    append(pieces, "weights/", state, state.weight);
    append(pieces, "moments/first/", state, state.first_moment);
    append(pieces, "moments/second/", state, state.second_moment);
  }
  return pieces;
}

std::int64_t Trainer::owned_elements() {
  std::int64_t elements = 0;
  for (const optim::OwnedState& state : optimizer_.owned_state()) elements += state.rectangle.extent.size();
  return elements;
}

}  // namespace trireme::train
