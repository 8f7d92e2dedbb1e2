// What made a step's numbers go bad.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/process_grid.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/device/device.hpp"
#include "trireme/model/partition.hpp"
#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/weights.hpp"
#include "trireme/pipeline/nonfinite.hpp"

namespace trireme::train {

/// `first in the forward pass of layers 0-3 on rank 2 (`host`), micro-batch 1 of its 4, samples 17, 3`: of all passes
/// that went bad the one that no other can have made so. Where none did, the first tensor whose gradient is bad.
/// The same text on every rank; empty when nothing is found. Collective over the grid.
[[nodiscard]] std::string find_culprit(const comm::ProcessGrid& grid, const pipeline::NonfiniteWatch& watch,
                                       const std::vector<model::ChunkRange>& chunks, const data::StepBatch& batch);

/// `first in the gradient of `name` on rank 2 (`host`)`: where gradients that are finite add up to some that are not.
/// As above.
[[nodiscard]] std::string find_bad_gradient(const comm::ProcessGrid& grid, const device::Device& device,
                                            const optim::Weights& weights, const optim::GradientSync& gradients);

}  // namespace trireme::train
