// What a parallel test is given: the ranks of this mpiexec.
#pragma once

#include "trireme/comm/communicator.hpp"

namespace trireme::testing {

/// All ranks of this run. A case runs on every one of them; expectations may fail on any.
[[nodiscard]] comm::Communicator& world();

/// Called once by main.
void set_world(comm::Communicator& world);

}  // namespace trireme::testing
