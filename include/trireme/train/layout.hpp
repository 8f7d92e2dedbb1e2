// How a deck falls on a grid: what training does, and a plan foretells.
// deck: one that config::check_grid() accepts, model.vocab and batch.micro filled.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/comm/grid_shape.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/model/partition.hpp"
#include "trireme/pipeline/schedule.hpp"

namespace trireme::train {

/// How a step's sequences fall on the data axis.
struct StepLayout {
  std::int64_t micro_batches = 1;  ///< of a data rank
  std::int64_t lanes = 1;          ///< of a data rank
  /// A rank keeps its own piece of the gradients only (ZeRO 2 and 3). Whole ones are kept where their sum must run in
  /// lanes over several micro-batches: there a grid-invariant step of ZeRO 2 or 3 has the gradients of ZeRO 1.
  bool shares_gradients = false;
};
/// Throws InputError when batch.global is not a multiple of batch.micro times the data size, naming the legal sizes.
[[nodiscard]] StepLayout lay_out_step(const config::Deck& deck, int data_size);

/// The slices of the tensor dimension.
[[nodiscard]] std::int64_t num_tensor_slices(const config::Deck& deck, int tensor_size);

/// The schedule of a grid: with one stage there is nothing to overlap, and every schedule is the plain one.
[[nodiscard]] pipeline::ScheduleShape schedule_of(const config::Deck& deck, const comm::GridShape& grid);

/// The chunks of one stage of that schedule.
[[nodiscard]] std::vector<model::ChunkRange> chunks_of(const config::Deck& deck,
                                                       const pipeline::ScheduleShape& schedule, int stage);

}  // namespace trireme::train
