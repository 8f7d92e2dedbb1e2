// Gradients of a step: accumulated in lanes, added in a fixed tree, reduced over the data axis while the backward pass
// still runs. The only place, with the optimizer, where the data axis appears.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/tree.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/write.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::optim {

/// Part of a parameter within its bucket that this rank owns: rows of the shard, all columns (for vectors: elements).
struct OwnedRows {
  tensor::Parameter* parameter = nullptr;
  std::int64_t begin = 0;  ///< first row (of shard.extent's rows; a vector counts its elements as rows)
  std::int64_t end = 0;
  std::int64_t bucket_offset = 0;  ///< of the first owned element within the bucket
  std::int64_t elements = 0;
};

/// The parameters of one bucket, concatenated, and how the data ranks share them.
/// Cuts fall on row borders of matrices and on multiples of 1,024 elements of vectors, as evenly as that allows, so
/// that a piece of a tensor is a rectangle and a run of the gradient norm has one owner.
struct BucketLayout {
  std::vector<tensor::Parameter*> parameters;
  std::vector<std::int64_t> offsets;  ///< of each parameter; each starts on 16 elements; gaps hold zeros
  std::int64_t elements = 0;
  comm::Cuts cuts;               ///< num ranks + 1 entries
  std::vector<OwnedRows> owned;  ///< this rank's
};

/// Lays out bucket `bucket` of the store for rank `rank` of `num_ranks`. A pure function.
[[nodiscard]] BucketLayout lay_out_bucket(tensor::ParameterStore& store, int bucket, int rank, int num_ranks);

struct GradientSyncOptions {
  std::int64_t micro_batches = 1;  ///< of this rank in a step
  std::int64_t lanes = 1;          ///< of this rank; divides micro_batches
  bool keep_whole = false;         ///< ZeRO 0: gather the reduced gradients on every rank
};

/// Owns the gradient memory of all buckets (and sets parameter.gradient, and parameter.weight for parameters that are
/// not gradient only). Per bucket: 1 + log2(lanes) buffers of fp32.
///
/// Walk of a step: begin_step(); for each micro-batch in order, for each bucket as the backward pass leaves it:
/// write(bucket) tells the layers to set or to add, then bucket_done(bucket). The last bucket_done of a bucket starts
/// its reduction; poll() now and then; finish() before the gradients are read. All ranks of the data axis finish
/// buckets in the same order.
class GradientSync {
 public:
  GradientSync(const device::Device& device, tensor::ParameterStore& store, comm::Communicator& data_axis,
               device::Arena& arena, const GradientSyncOptions& options);
  ~GradientSync();

  void begin_step();
  /// Write::set for the first micro-batch of a lane, else add. Valid until bucket_done(bucket).
  [[nodiscard]] kernels::Write write(int bucket) const;
  void bucket_done(int bucket);
  /// Moves reductions on; cheap; call between actions.
  void poll();
  void finish();
  /// Seconds spent in finish() of the last step: communication that nothing hid.
  [[nodiscard]] double exposed_seconds() const noexcept;

  [[nodiscard]] int num_buckets() const noexcept;
  [[nodiscard]] const BucketLayout& layout(int bucket) const;
  /// Weights of a bucket, whole (empty data for a gradient-only bucket), [elements] fp32.
  [[nodiscard]] tensor::Tensor weights(int bucket) const;
  /// After finish(): the reduced gradient; valid in this rank's piece (everywhere with keep_whole), [elements] fp32.
  [[nodiscard]] tensor::Tensor gradients(int bucket) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::optim
