// The data axis, and the groups of its ranks that share one copy of the state.
#pragma once

#include <memory>

#include "trireme/comm/communicator.hpp"
#include "trireme/optim/options.hpp"

namespace trireme::optim {

/// Ranks of the data axis that share one copy of weights, gradients and moments: options.group (0: all), or 1 with
/// zero_stage 0, where every rank keeps everything. Throws InputError (naming sharding.group and grid.data) when the
/// number does not divide data_size.
[[nodiscard]] int resolve_group(const ShardingOptions& options, int data_size);

/// The data axis cut in groups of consecutive ranks. Inside a group each rank owns one piece of every bucket; across
/// groups the ranks in the same place own the same piece and keep it alike.
class DataAxis {
 public:
  /// group: ranks of a group; 0 means all; must divide the size of the axis. Collective over the axis, which must
  /// outlive this object.
  explicit DataAxis(comm::Communicator& data_axis, int group = 0);

  /// All ranks of the axis.
  [[nodiscard]] comm::Communicator& whole() const noexcept { return whole_; }
  /// The ranks of this rank's group.
  [[nodiscard]] comm::Communicator& inside() const noexcept { return *inside_; }
  /// The ranks in this rank's place of all groups, in the order of the groups.
  [[nodiscard]] comm::Communicator& across() const noexcept { return *across_; }
  /// True in the one group that stands for all in norms and checkpoints.
  [[nodiscard]] bool counts() const { return across_->rank() == 0; }

 private:
  comm::Communicator& whole_;
  std::unique_ptr<comm::Communicator> inside_;
  std::unique_ptr<comm::Communicator> across_;
};

}  // namespace trireme::optim
