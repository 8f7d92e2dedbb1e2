// Which blocks stand on which stage of the pipeline.
//
// p stages of v chunks are p v virtual stages, in the order of the model: chunk c of stage s is virtual stage c p + s.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/model/options.hpp"

namespace trireme::model {

/// What a virtual stage holds: contiguous blocks, and the ends of the model.
struct ChunkRange {
  std::int64_t first_block = 0;
  std::int64_t num_blocks = 0;
  bool embedding = false;  ///< the first virtual stage
  bool head = false;       ///< the last one
  [[nodiscard]] std::int64_t end_block() const noexcept { return first_block + num_blocks; }
  bool operator==(const ChunkRange&) const = default;
};

/// The whole model in one piece.
[[nodiscard]] ChunkRange whole_model(const ModelOptions& options);

/// Cuts the blocks over stages * chunks virtual stages, in their order.
///
/// layers_per_stage empty: at least one block each (none may be left for the last of stages of one chunk), so that the
/// largest stage (all its chunks together) has the fewest FLOP (chunk_flop_per_token(): the head counts as what its
/// product costs, the embedding has none); where several cuts are as good, earlier stages, which hold more activations
/// at a time, have fewer blocks. Else one number a virtual stage, adding up to model.layers; 0 is legal for the first,
/// which has the embedding, and for the last, which has the head.
///
/// options: resolved, with vocab. Throws InputError naming pipeline.layers_per_stage, pipeline.chunks, grid.pipeline
/// and model.layers with the legal numbers.
[[nodiscard]] std::vector<ChunkRange> partition(const ModelOptions& options, int stages, int chunks,
                                                const std::vector<std::int64_t>& layers_per_stage);

}  // namespace trireme::model
