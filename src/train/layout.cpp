#include "trireme/train/layout.hpp"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/layers/slices.hpp"
#include "trireme/optim/lanes.hpp"

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
  const std::int64_t micro_batches = total / data_size;
  const bool in_lanes = deck.numerics.grid_invariant && micro_batches > 1;
  return {.micro_batches = micro_batches,
          .lanes = std::max<std::int64_t>(1, lanes / data_size),
          .shares_gradients = deck.sharding.zero_stage >= 2 && !in_lanes};
}

std::int64_t num_tensor_slices(const config::Deck& deck, int tensor_size) {
  const model::ModelOptions& model = deck.model;
  return layers::resolve_slices(deck.numerics.tensor_slices,
                                {.heads = model.heads, .kv_heads = model.kv_heads, .mlp_width = model.mlp_width},
                                tensor_size, deck.numerics.grid_invariant);
}

pipeline::ScheduleShape schedule_of(const config::Deck& deck, const comm::GridShape& grid) {
  const std::int64_t micro_batches = lay_out_step(deck, grid[Axis::data]).micro_batches;
  const int stages = grid[Axis::pipeline];
  if (stages == 1) return {.micro_batches = micro_batches};
  const auto kind = pipeline::schedule_kind(deck.pipeline.schedule);
  TRIREME_EXPECT(kind.has_value());
  return {.kind = *kind,
          .stages = stages,
          .chunks = static_cast<int>(deck.pipeline.chunks),
          .micro_batches = micro_batches};
}

std::vector<model::ChunkRange> chunks_of(const config::Deck& deck, const pipeline::ScheduleShape& schedule, int stage) {
  const std::vector<model::ChunkRange> all =
      model::partition(deck.model, schedule.stages, schedule.chunks,
                       schedule.stages == 1 ? std::vector<std::int64_t>{} : deck.pipeline.layers_per_stage);
  std::vector<model::ChunkRange> chunks;
  for (auto at = static_cast<std::size_t>(stage); at < all.size(); at += static_cast<std::size_t>(schedule.stages)) {
    chunks.push_back(all[at]);
  }
  return chunks;
}

}  // namespace trireme::train
