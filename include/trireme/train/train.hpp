// `trireme train`.
#pragma once

#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/comm/communicator.hpp"

namespace trireme::train {

/// Trains as the deck says, from its newest checkpoint if there is one, until run.steps, a signal, a stop file or the
/// walltime. Collective over world; every rank returns the same code: finished, or stopped_early at a committed
/// checkpoint. Throws InputError, SystemError, NumericalError.
[[nodiscard]] ExitCode train(comm::Communicator& world, const std::string& deck_path,
                             const std::vector<std::string>& overrides);

}  // namespace trireme::train
