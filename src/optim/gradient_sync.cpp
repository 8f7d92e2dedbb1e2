#include "trireme/optim/gradient_sync.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/base/timer.hpp"

#include "optim/bucket_memory.hpp"
#include "optim/lane_sum.hpp"
#include "optim/places.hpp"
#include "optim/reduction_queue.hpp"

namespace trireme::optim {
namespace {

using device::MemoryClass;
using tensor::Parameter;

struct Bucket {
  int number = 0;
  const BucketLayout* layout = nullptr;
  std::optional<LaneSum> lanes;  // plain
  float* own = nullptr;          // sharded, or filled from outside
  Place* place = nullptr;        // sharded and open
  std::int64_t micro_batches_done = 0;

  /// False when there is nothing to reduce here.
  [[nodiscard]] bool takes_part() const { return layout->elements > 0 && !layout->follows(); }
  [[nodiscard]] float* own_piece() const { return lanes ? at(lanes->current(), layout->own_begin) : own; }
};

LaneSum allocate_lanes(device::Arena& arena, std::int64_t elements, std::int64_t lanes) {
  std::vector<float*> buffers{allocate_floats(arena, elements, MemoryClass::gradients)};
  for (; lanes > 1; lanes /= 2) buffers.push_back(allocate_floats(arena, elements, MemoryClass::gradients));
  return LaneSum(std::move(buffers), elements);
}

std::vector<Bucket> make_buckets(const Weights& weights, device::Arena& arena, const GradientSyncOptions& options) {
  std::vector<Bucket> buckets;
  for (int number = 0; number < weights.num_buckets(); ++number) {
    const BucketLayout& layout = weights.layout(number);
    Bucket bucket{.number = number, .layout = &layout};
    const bool filled_from_outside = layout.follows() && layout.gradient_only();
    if (filled_from_outside || (bucket.takes_part() && options.sharded)) {
      bucket.own = allocate_floats(arena, layout.own_elements(), MemoryClass::gradients);
    } else if (bucket.takes_part()) {
      bucket.lanes = allocate_lanes(arena, layout.elements, options.lanes);
    }
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

std::vector<std::int64_t> place_elements(const std::vector<Bucket>& buckets, bool sharded) {
  std::vector<std::int64_t> elements;
  for (const Bucket& bucket : buckets) {
    elements.push_back(sharded && bucket.takes_part() ? bucket.layout->elements : 0);
  }
  return elements;
}

std::vector<std::unique_ptr<Reduction>> make_reductions(const device::Device& device, const DataAxis& data_axis,
                                                        const std::vector<Bucket>& buckets) {
  std::vector<std::unique_ptr<Reduction>> reductions;
  const int count = static_cast<int>(buckets.size());
  for (const Bucket& bucket : buckets) {
    reductions.push_back(bucket.takes_part()
                             ? std::make_unique<Reduction>(device, data_axis, *bucket.layout, bucket.number, count)
                             : nullptr);
  }
  return reductions;
}

/// In a group of one rank the own piece is the whole bucket, and is written in place.
GradientSyncOptions resolved(GradientSyncOptions options, const DataAxis& data_axis) {
  if (options.sharded) options.lanes = 1;
  if (data_axis.inside().size() == 1) options.sharded = false;
  return options;
}

}  // namespace

struct GradientSync::State {
  State(const device::Device& the_device, const DataAxis& data_axis, const Weights& weights, device::Arena& arena,
        const GradientSyncOptions& the_options)
      : device(the_device),
        options(resolved(the_options, data_axis)),
        buckets(make_buckets(weights, arena, options)),
        places(arena, place_elements(buckets, options.sharded), weights.options().in_turn),
        reductions(arena, make_reductions(device, data_axis, buckets)) {}

  [[nodiscard]] Bucket& bucket(int number) { return buckets[static_cast<std::size_t>(number)]; }
  [[nodiscard]] std::int64_t micro_batches_per_lane() const { return options.micro_batches / options.lanes; }

  void open_place(Bucket& bucket);
  void reduce_place(Bucket& bucket);
  void lane_done(Bucket& bucket);

  const device::Device& device;
  GradientSyncOptions options;
  std::vector<Bucket> buckets;
  Places places;
  ReductionQueue reductions;
  std::vector<Bucket*> held_back;  // complete, without overlap
  double exposed_seconds = 0;
};

/// Takes the place that was used least recently: what it held is reduced first, and so is the bucket's micro-batch
/// before.
void GradientSync::State::open_place(Bucket& bucket) {
  const Timer timer;
  Place* const place = places.idle(bucket.number);
  TRIREME_EXPECT(place != nullptr);
  if (place->bucket >= 0) reductions.finish(place->bucket);
  if (bucket.micro_batches_done > 0) reductions.finish(bucket.number);
  exposed_seconds += timer.seconds();
  places.take(*place, bucket.number);
  bucket.place = place;
  point(*bucket.layout, &Parameter::gradient, place->memory);
}

void GradientSync::State::reduce_place(Bucket& bucket) {
  Place& place = *std::exchange(bucket.place, nullptr);
  point(*bucket.layout, &Parameter::gradient, nullptr);
  places.give_back(place);
  reductions.push(bucket.number, {.bucket = place.memory,
                                  .own = bucket.own,
                                  .deliver = bucket.micro_batches_done == 1 ? Deliver::set : Deliver::add,
                                  .across = bucket.micro_batches_done == options.micro_batches});
  if (options.overlapped) return;
  const Timer timer;
  reductions.finish(bucket.number);
  exposed_seconds += timer.seconds();
}

void GradientSync::State::lane_done(Bucket& bucket) {
  bucket.lanes->lane_done(device);
  float* const sum = bucket.lanes->current();
  point(*bucket.layout, &Parameter::gradient, sum);
  if (bucket.micro_batches_done < options.micro_batches) return;
  if (options.overlapped) {
    reductions.push(bucket.number, {.bucket = sum, .own = bucket.own_piece()});
  } else {
    held_back.push_back(&bucket);
  }
}

GradientSync::GradientSync(const device::Device& device, const DataAxis& data_axis, const Weights& weights,
                           device::Arena& arena, const GradientSyncOptions& options) {
  TRIREME_EXPECT(options.lanes > 0 && (options.lanes & (options.lanes - 1)) == 0);
  TRIREME_EXPECT(options.micro_batches % options.lanes == 0);
  state_ = std::make_unique<State>(device, data_axis, weights, arena, options);
  begin_step();
}

GradientSync::~GradientSync() = default;

void GradientSync::begin_step() {
  state_->exposed_seconds = 0;
  for (Bucket& bucket : state_->buckets) {
    bucket.micro_batches_done = 0;
    if (bucket.lanes) bucket.lanes->begin_step();
    point(*bucket.layout, &Parameter::gradient, bucket.lanes ? bucket.lanes->current() : nullptr);
  }
}

kernels::Write GradientSync::write(int number) {
  Bucket& bucket = state_->bucket(number);
  if (state_->options.sharded) {
    if (bucket.takes_part() && bucket.place == nullptr) state_->open_place(bucket);
    return kernels::Write::set;
  }
  const bool first = bucket.micro_batches_done % state_->micro_batches_per_lane() == 0;
  return first ? kernels::Write::set : kernels::Write::add;
}

void GradientSync::bucket_done(int number) {
  Bucket& bucket = state_->bucket(number);
  TRIREME_EXPECT(bucket.micro_batches_done < state_->options.micro_batches);
  ++bucket.micro_batches_done;
  if (!bucket.takes_part()) return;
  if (state_->options.sharded) {
    state_->reduce_place(bucket);
  } else if (bucket.micro_batches_done % state_->micro_batches_per_lane() == 0) {
    state_->lane_done(bucket);
  }
}

void GradientSync::poll() {
  if (state_->options.overlapped) state_->reductions.poll();
}

void GradientSync::finish() {
  for ([[maybe_unused]] const Bucket& bucket : state_->buckets) {
    TRIREME_EXPECT(!bucket.takes_part() || bucket.micro_batches_done == state_->options.micro_batches);
  }
  const Timer timer;
  for (const Bucket* bucket : state_->held_back) {
    state_->reductions.push(bucket->number, {.bucket = bucket->lanes->current(), .own = bucket->own_piece()});
  }
  state_->held_back.clear();
  state_->reductions.finish();
  state_->exposed_seconds += timer.seconds();
}

double GradientSync::exposed_seconds() const noexcept {
  return state_->exposed_seconds;
}

std::span<float> GradientSync::own(int number) const {
  const Bucket& bucket = state_->bucket(number);
  float* const piece = bucket.own_piece();
  if (piece == nullptr) return {};
  return {piece, static_cast<std::size_t>(bucket.layout->own_elements())};
}

}  // namespace trireme::optim
