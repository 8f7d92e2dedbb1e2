#pragma once

#include <cstdint>

namespace trireme::checkpoint {

/// The deck's `checkpoint` section.
struct CheckpointOptions {
  std::int64_t every_steps = 0;       ///< 0: at no fixed step
  double every_minutes = 0;           ///< 0: off
  std::int64_t keep = 3;              ///< newest checkpoints kept, >= 1
  std::int64_t keep_every_steps = 0;  ///< checkpoints of steps divisible by it are kept for good; 0: none
  bool asynchronous = false;
  std::int64_t ranks_per_file = 1;  ///< ranks whose pieces share one shard file
};

}  // namespace trireme::checkpoint
