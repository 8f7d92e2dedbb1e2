// Gradients of a step: accumulated in lanes, added in a fixed tree, reduced over the data axis while the backward pass
// still runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/write.hpp"
#include "trireme/optim/bucket_layout.hpp"
#include "trireme/optim/data_axis.hpp"
#include "trireme/optim/weights.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::optim {

struct GradientSyncOptions {
  std::int64_t micro_batches = 1;  ///< of this rank in a step
  std::int64_t lanes = 1;          ///< of this rank; divides micro_batches; not used when sharded
  bool sharded = false;            ///< ZeRO 2, 3: only the own pieces live through the step
  bool overlapped = true;          ///< false: reductions wait for finish() (sharded: are waited for), to be measured
};

/// Owns the gradient memory of all buckets and sets parameter.gradient.
///
/// Plain: whole buckets accumulate in lanes; after the last micro-batch they are summed inside the group, every rank
/// its own piece, and the pieces are summed across the groups. As a rank of the tree adds whole lanes, and a group of a
/// power of two is a subtree, the result has the same bits for every such group size.
/// Sharded: every micro-batch of a bucket is written to a place that is there for a while, summed inside the group, and
/// added to the own piece; across the groups only after the last one. The same bits as plain with one micro-batch a
/// rank.
///
/// Walk of a step: begin_step(); for each micro-batch in order, for each bucket as the backward pass comes to it:
/// write(bucket) tells the layers to set or to add, then bucket_done(bucket). poll() now and then; finish() before the
/// gradients are read. Several buckets may be open at the same time (of buckets that share places: one). All ranks of
/// the data axis open and finish buckets in the same order; every wait is for a reduction that this order names, so
/// that no two ranks wait for each other.
///
/// Buckets that follow take no part: a second gradient made elsewhere has only its own piece, which the caller fills
/// after finish(); a table that follows has no gradient at all.
///
/// Memory, 4 bytes an element, as gradients: 1 + log2(lanes) whole buckets; of own pieces one when sharded. As
/// buffers: places, and scratch of the reductions.
class GradientSync {
 public:
  /// Layouts and shared places are those of `weights`; all arguments but arena and options must outlive this object.
  GradientSync(const device::Device& device, const DataAxis& data_axis, const Weights& weights, device::Arena& arena,
               const GradientSyncOptions& options);
  ~GradientSync();

  void begin_step();
  /// Opens the bucket for one micro-batch if it is not open: parameter.gradient is where to write, until
  /// bucket_done(bucket). Write::set for the first micro-batch of a lane (for every one when sharded), else add.
  /// May wait for a place.
  [[nodiscard]] kernels::Write write(int bucket);
  void bucket_done(int bucket);
  /// Moves reductions on; cheap; call between actions.
  void poll();
  void finish();
  /// Seconds that write() and finish() have waited in the last step: communication that nothing hid.
  [[nodiscard]] double exposed_seconds() const noexcept;

  /// After finish(): the reduced gradient of this rank's piece (elements own_begin ... own_end of the layout); empty
  /// for a table that follows.
  [[nodiscard]] std::span<float> own(int bucket) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::optim
