#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "trireme/device/arena.hpp"

#include "optim/reduction.hpp"

namespace trireme::optim {

/// Reductions of buckets over the data axis, going on in the background of the backward pass.
///
/// Few run at the same time, because each needs scratch: one place fits the largest bucket, a second one the median;
/// the others wait in the order of their coming. All ranks push in the same order, so the oldest reduction runs on all
/// of them, and no rank waits for one that another cannot start.
class ReductionQueue {
 public:
  /// reductions: of each bucket; nullptr for one that takes no part. Scratch counts as buffers.
  ReductionQueue(device::Arena& arena, std::vector<std::unique_ptr<Reduction>> reductions);

  /// Adds a job of the bucket. Contract: its last one is finished.
  void push(int bucket, const ReductionJob& job);
  void poll();
  void finish();
  /// Finishes the last job of the bucket and, whatever has happened since, all that came before it: a rank that has
  /// gone on from here owes no message of theirs, so nobody waits for a rank that waits elsewhere.
  void finish(int bucket);

 private:
  struct Place {
    float* scratch = nullptr;
    std::int64_t elements = 0;
    Reduction* user = nullptr;
  };
  void finish_oldest();
  void start_waiting();
  void release(const Reduction& reduction);
  [[nodiscard]] Place* free_place(std::int64_t elements);

  std::vector<std::unique_ptr<Reduction>> reductions_;
  std::vector<Place> places_;  // small ones first
  std::deque<Reduction*> waiting_;
  std::deque<Reduction*> running_;
  std::int64_t num_pushed_ = 0;
};

}  // namespace trireme::optim
