// Forward passes through all stages, without training.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/comm/process_grid.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/model/stage.hpp"

namespace trireme::pipeline {

struct Evaluation {
  double loss = 0;           ///< nats per counted token; 0 when none is counted
  std::int64_t counted = 0;  ///< tokens, all ranks together
};

/// The loss over a validation set that the ranks of the data axis share. Exact sums: the same bits on any number of
/// data ranks; leaves no trace in training. weights: nullptr when the stage holds its own. Collective over the grid.
[[nodiscard]] Evaluation evaluate(model::Stage& stage, const data::ValidationSet& validation,
                                  const comm::ProcessGrid& grid, optim::Weights* weights);

/// Appends tokens to the sequence being generated; the logits [vocab] of the token that follows, on every stage.
/// Collective over the axes of tensor and pipeline.
[[nodiscard]] std::vector<float> continue_sequence(model::Stage& stage, std::span<const std::int32_t> tokens,
                                                   comm::Communicator& pipeline_axis);

}  // namespace trireme::pipeline
