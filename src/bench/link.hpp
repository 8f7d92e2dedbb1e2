// A connection as a plan sees it.
#pragma once

#include <optional>
#include <vector>

#include "bench/together.hpp"

namespace trireme::bench {

/// A message of b bytes takes latency_s + b / bytes_per_s.
struct Link {
  double latency_s = 0;
  double bytes_per_s = 0;
};

/// From the smallest and the largest of the messages, which come in the order of their sizes; none without messages.
[[nodiscard]] std::optional<Link> link_of(const std::vector<OverRanks>& messages);

}  // namespace trireme::bench
