// The data axis in a step: gradients that are summed, weights that are given to the others.
// d data ranks in groups of g that share one copy.
#pragma once

#include "trireme/plan/rates.hpp"

#include "plan/work.hpp"

namespace trireme::plan {

struct DataShape {
  int ranks = 1;  ///< d
  int group = 1;  ///< g
  Link link;
  double buckets = 1;  ///< of the stage
};

/// A piece of the traffic, and how long it takes.
struct Exchange {
  Sent sent;
  double time_s = 0;
};

/// Sum of whole gradients inside the group, every rank its piece.
[[nodiscard]] Exchange reduce_inside(double bytes, const DataShape& shape);
/// Sum of the own pieces of `bytes` over the groups.
[[nodiscard]] Exchange reduce_across(double bytes, const DataShape& shape);
/// The pieces given to all of the group.
[[nodiscard]] Exchange gather_inside(double bytes, const DataShape& shape);

/// What work of `cover_s` does not hide of a transfer in `buckets` equal parts, the last of which begins as it ends.
[[nodiscard]] double exposed_s(double time_s, double cover_s, double buckets);

[[nodiscard]] double transfer_s(const Sent& sent, const Link& link);

}  // namespace trireme::plan
