// `trireme train`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/comm/grid_shape.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/device/arena.hpp"

namespace trireme::train {

/// Trains as the deck says, from its newest checkpoint if there is one, until run.steps, a signal, a stop file or the
/// walltime. Collective over world; every rank returns the same code: finished, or stopped_early at a committed
/// checkpoint. Throws InputError, SystemError, NumericalError.
[[nodiscard]] ExitCode train(comm::Communicator& world, const std::string& deck_path,
                             const std::vector<std::string>& overrides);

/// Bytes by class of the rank at `coordinates` of a run on `grid` with `num_threads` threads a rank: the very code that
/// lays a run out, over a measuring arena and without ranks. deck: one that config::check_grid() accepts, model.vocab
/// and batch.micro filled.
[[nodiscard]] std::array<std::int64_t, device::num_memory_classes> planned_memory(const config::Deck& deck,
                                                                                  const comm::GridShape& grid,
                                                                                  const comm::GridShape& coordinates,
                                                                                  int num_threads);

}  // namespace trireme::train
