#pragma once

#include <cstdint>

#include "trireme/comm/tree.hpp"
#include "trireme/device/device.hpp"
#include "trireme/optim/bucket_layout.hpp"
#include "trireme/optim/data_axis.hpp"

namespace trireme::optim {

/// How a sum over the group comes to the own piece's memory.
enum class Deliver : std::uint8_t { in_place, set, add };

/// What a reduction works on.
struct ReductionJob {
  float* bucket = nullptr;  ///< whole: summed over the group
  float* own = nullptr;     ///< the own piece's memory; within `bucket` for Deliver::in_place
  Deliver deliver = Deliver::in_place;
  bool across = true;  ///< then sum the own pieces across the groups
};

/// The reduction of one bucket over the data axis: a reduce-scatter inside the group, then an all-reduce of the own
/// piece across the groups.
class Reduction {
 public:
  /// Tags: num_buckets + bucket inside the group (smaller ones are those of the weights), 2 bucket and 2 bucket + 1
  /// across.
  Reduction(const device::Device& device, const DataAxis& data_axis, const BucketLayout& layout, int bucket,
            int num_buckets);

  [[nodiscard]] std::int64_t scratch_elements() const;

  void set_job(const ReductionJob& job, std::int64_t number) {
    job_ = job;
    number_ = number;
  }
  /// Which of all jobs of all buckets it is, in their order.
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }

  void start(float* scratch);
  bool poll();
  void finish();

 private:
  enum class Phase : std::uint8_t { idle, inside, scatter_across, gather_across };
  bool poll_phase();
  void finish_phase();
  void next_phase();
  void deliver() const;

  const device::Device& device_;
  std::int64_t own_begin_;
  std::int64_t own_elements_;
  comm::TreeReduceScatter inside_;
  comm::TreeReduceScatter scatter_across_;
  comm::PieceAllGather gather_across_;
  Phase phase_ = Phase::idle;
  ReductionJob job_;
  std::int64_t number_ = 0;
  float* scratch_ = nullptr;
};

}  // namespace trireme::optim
