#pragma once

#include <cstdint>
#include <vector>

#include "trireme/device/device.hpp"

namespace trireme::optim {

/// The gradient buffers of one bucket: lanes come one after the other and are added in a balanced binary tree.
///
/// A binary counter: level k holds the sum of 2^k lanes or nothing. A finished lane is carried upwards as in counting,
/// so that 2^m lanes need 1 + m buffers.
class LaneSum {
 public:
  /// 1 + log2(number of lanes) buffers of `elements` each.
  LaneSum(std::vector<float*> buffers, std::int64_t elements);

  /// Forgets all sums.
  void begin_step();
  /// Where the gradients of the lane under way go; after the last lane: the sum of all.
  [[nodiscard]] float* current() const noexcept { return current_; }
  /// The current buffer holds a whole lane.
  void lane_done(const device::Device& device);

 private:
  std::vector<float*> buffers_;
  std::int64_t elements_;
  std::vector<float*> levels_;
  std::vector<float*> free_;
  float* current_ = nullptr;
};

}  // namespace trireme::optim
