#pragma once

#include <cstdint>

namespace trireme::checkpoint {

/// every_minutes: the interval follows from what a save costs and how often a job fails.
inline constexpr double automatic_minutes = -1;
/// ranks_per_file: the ranks of a node share a file.
inline constexpr std::int64_t ranks_of_a_node = -1;

/// The deck's `checkpoint` section.
struct CheckpointOptions {
  std::int64_t every_steps = 0;       ///< 0: at no fixed step
  double every_minutes = 0;           ///< 0: off; or automatic_minutes
  double failures_per_day = 0;        ///< of the whole job, for automatic_minutes; 0: estimated
  std::int64_t keep = 3;              ///< newest checkpoints kept, >= 1
  std::int64_t keep_every_steps = 0;  ///< checkpoints of steps divisible by it are kept for good; 0: none
  bool asynchronous = false;
  std::int64_t ranks_per_file = 1;  ///< ranks whose pieces share one shard file; or ranks_of_a_node
};

}  // namespace trireme::checkpoint
