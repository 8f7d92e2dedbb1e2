// Messages there and back between pairs of ranks, all pairs at once.
#pragma once

#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"

#include "bench/partners.hpp"
#include "bench/together.hpp"

namespace trireme::bench {

/// The time of one message (half of there and back) of 8 B to 16 MiB, a line a size; none without a pair. Collective.
[[nodiscard]] std::vector<OverRanks> measure_messages(comm::Communicator& world, const Partners& partners,
                                                      const std::string& what);

}  // namespace trireme::bench
