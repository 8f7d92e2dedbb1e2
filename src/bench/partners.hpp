// Which ranks send messages to each other.
#pragma once

#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::bench {

/// The number of each rank's host, in the order of the hosts' lowest ranks. Collective.
[[nodiscard]] std::vector<int> host_numbers(comm::Communicator& world);

[[nodiscard]] int num_hosts(const std::vector<int>& hosts);
/// Of the fullest host.
[[nodiscard]] int ranks_per_host(const std::vector<int>& hosts);

/// The partner of each rank, -1 for a rank that has none.
using Partners = std::vector<int>;

/// Neighbours on the same host: its first and second rank, third and fourth, ...
[[nodiscard]] Partners partners_inside(const std::vector<int>& hosts);

/// Ranks of equal place on the first and second host, the third and fourth, ...
[[nodiscard]] Partners partners_between(const std::vector<int>& hosts);

}  // namespace trireme::bench
