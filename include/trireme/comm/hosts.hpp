// Which ranks are on one host.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

/// By rank: the lowest rank on the same host. Hosts are told apart by shared memory, not by name: containers and images
/// often share one name. Collective.
[[nodiscard]] std::vector<std::int32_t> host_leaders(Communicator& communicator);

}  // namespace trireme::comm
