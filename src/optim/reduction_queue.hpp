#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/tree.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"

namespace trireme::optim {

/// Reductions of buckets over the data axis, going on in the background of the backward pass.
///
/// Few run at the same time, because each needs scratch: one place fits the largest bucket, a second one the median;
/// the others wait in the order of their coming. All ranks push in the same order, so the oldest reduction runs on all
/// of them, and no rank waits for one that another cannot start.
class ReductionQueue {
 public:
  /// cuts: of each bucket. Tags 0 ... 2 * num buckets - 1 of the communicator are used.
  ReductionQueue(const device::Device& device, comm::Communicator& data_axis, device::Arena& arena,
                 const std::vector<comm::Cuts>& cuts, bool keep_whole);
  ~ReductionQueue();

  /// Sums `data` over the ranks: this rank's piece of it, or all of it with keep_whole.
  void push(std::size_t bucket, float* data);
  void poll();
  void finish();

 private:
  class Reduction;
  struct Place {
    float* scratch = nullptr;
    std::int64_t elements = 0;
    Reduction* user = nullptr;
  };
  void start_waiting();
  void release(const Reduction& reduction);
  [[nodiscard]] Place* free_place(std::int64_t elements);

  std::vector<std::unique_ptr<Reduction>> reductions_;
  std::vector<Place> places_;  // small ones first
  std::deque<Reduction*> waiting_;
  std::deque<Reduction*> running_;
};

}  // namespace trireme::optim
