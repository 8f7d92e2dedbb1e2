#include "bench/link.hpp"

#include "trireme/base/error.hpp"

namespace trireme::bench {

std::optional<Link> link_of(const std::vector<OverRanks>& messages) {
  if (messages.empty()) return std::nullopt;
  const OverRanks& small = messages.front();
  const OverRanks& large = messages.back();
  TRIREME_EXPECT(large.amount > small.amount);
  const double more_s = large.median_s - small.median_s;
  // On a busy machine a small message may take as long as a large one: then its time says nothing of the rate.
  return Link{.latency_s = small.median_s,
              .bytes_per_s = more_s > 0 ? (large.amount - small.amount) / more_s : large.rate()};
}

}  // namespace trireme::bench
