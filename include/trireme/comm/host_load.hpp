// How the ranks of a host share its cores.
#pragma once

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

/// device::default_num_threads() of this rank among those of its host (Communicator::split_by_host). Collective.
[[nodiscard]] int default_num_threads(Communicator& host);

/// What the ranks of a host use of it together.
struct HostLoad {
  int ranks = 0;
  int threads = 0;  ///< of all ranks
  int cores = 0;    ///< that one rank or another may run on
};
/// The load of this host, where this rank has so many threads. Collective.
[[nodiscard]] HostLoad host_load(Communicator& host, int num_threads);

/// The load of the host with the most threads a core. Collective over the world.
[[nodiscard]] HostLoad heaviest_load(Communicator& world, const HostLoad& mine);

}  // namespace trireme::comm
