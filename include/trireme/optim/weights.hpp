// Who holds the weights, and when a layer may read them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/optim/bucket_layout.hpp"
#include "trireme/optim/data_axis.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::optim {

/// Buckets that are used in turn, so that they share a few places for whole buckets instead of having one each.
struct SharedPlaces {
  std::vector<int> buckets;
  int places = 2;  ///< of the largest of these buckets: one in use while the next is on its way
};

struct WeightsOptions {
  bool sharded = false;                 ///< ZeRO 3: a rank keeps its own pieces only
  Dtype compute = Dtype::f32;           ///< what the layers read: see weight_dtype()
  std::vector<SharedPlaces> in_turn{};  ///< for whole buckets that are there for a while, weights and gradients; a
                                        ///< bucket that is in none of these has a place of its own
};

/// Owns layout and weights of all buckets and sets parameter.weight of every entry but second gradients.
///
/// Plain: every rank holds all weights; after an update the own pieces are shared inside the group. Sharded: a rank
/// holds its own pieces; a layer acquires a bucket, reads, and releases it. Whole buckets live in a fixed number of
/// places. Which bucket is where depends only on the order of the calls, never on time, so all ranks of a group, which
/// make the same calls in the same order, agree on it; what was released stays readable at no cost until its place is
/// wanted.
///
/// In half precision a rank holds the fp32 masters of its own pieces, which are what is drawn, updated, saved and
/// loaded, and the whole bucket rounded from all masters; sharded: the masters only, rounded when they are gathered.
///
/// With sharded all calls but poll() are collective inside the group (the same calls in the same order).
/// Memory an element: fp32: 4 bytes as parameters (of the own pieces when sharded); half precision: 2 as parameters
/// (none when sharded; 4 of a vector), 4 as masters of the own pieces. Places as buffers.
class Weights {
 public:
  /// device and data_axis must outlive this object; the store's entries are those of the model from here on.
  Weights(const device::Device& device, tensor::ParameterStore& store, const DataAxis& data_axis, device::Arena& arena,
          const WeightsOptions& options = {});
  ~Weights();

  [[nodiscard]] int num_buckets() const noexcept;
  [[nodiscard]] const BucketLayout& layout(int bucket) const;
  [[nodiscard]] const WeightsOptions& options() const noexcept;

  /// Draws the first weights: a function of seed, name and global index. No bucket may be in use. Collective inside the
  /// group.
  void draw(std::uint64_t seed);

  /// Makes the weights of a bucket readable through parameter.weight, until release() was called as often. Waits for
  /// the gather. Contract: one of the bucket's places is not in use by another.
  void acquire(int bucket);
  /// Starts the gather without waiting; nothing when no place is free. acquire() comes later.
  void prefetch(int bucket);
  void release(int bucket);
  /// Moves gathers on; cheap; call between actions.
  void poll();
  /// Seconds that acquire() has waited for gathers since construction: communication that nothing hid.
  [[nodiscard]] double exposed_seconds() const noexcept;

  /// The piece of the bucket that this rank updates, fp32: elements own_begin ... own_end of the layout; empty for a
  /// second gradient.
  [[nodiscard]] std::span<float> own(int bucket) const;
  /// Says that the own piece has new numbers, on all ranks of the group: starts to give them to the others. Buckets
  /// travel at the same time. Sharded: nothing is sent, copies from before are forgotten; none may be in use.
  void start_share(int bucket);
  /// Waits until all that was started has arrived.
  void finish_share();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::optim
