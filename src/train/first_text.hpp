#pragma once

#include <string>

#include "trireme/comm/communicator.hpp"

namespace trireme::train {

/// The text of the lowest rank that has one, on every rank; empty when none has. Collective.
[[nodiscard]] std::string first_text(comm::Communicator& world, const std::string& mine);

}  // namespace trireme::train
