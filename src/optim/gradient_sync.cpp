#include "trireme/optim/gradient_sync.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/timer.hpp"

#include "optim/bucket_layout.hpp"
#include "optim/lane_sum.hpp"
#include "optim/reduction_queue.hpp"

namespace trireme::optim {
namespace {

using device::MemoryClass;
using tensor::Tensor;

/// The part of a bucket's memory that belongs to a parameter; null while the arena measures.
Tensor view(float* bucket, std::int64_t offset, const tensor::Shape& shape) {
  return {.data = bucket == nullptr ? nullptr : bucket + offset, .shape = shape, .dtype = Dtype::f32};
}

float* allocate_bucket(device::Arena& arena, std::int64_t elements, MemoryClass memory_class) {
  return static_cast<float*>(arena.allocate(static_cast<std::size_t>(elements) * sizeof(float), memory_class));
}

std::vector<float*> allocate_lanes(device::Arena& arena, std::int64_t elements, std::int64_t lanes) {
  std::vector<float*> buffers{allocate_bucket(arena, elements, MemoryClass::gradients)};
  for (; lanes > 1; lanes /= 2) buffers.push_back(allocate_bucket(arena, elements, MemoryClass::gradients));
  return buffers;
}

struct Bucket {
  BucketLayout layout;
  float* weights;  // null for a second gradient
  LaneSum gradients;
  std::int64_t micro_batches_done = 0;

  /// Shows the layers where their gradients go now.
  void point_gradients() const {
    for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
      tensor::Parameter& parameter = *layout.parameters[i];
      parameter.gradient = view(gradients.current(), layout.offsets[i], parameter.shard.extent);
    }
  }
  void point_weights() const {
    if (is_gradient_only(layout)) return;
    for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
      tensor::Parameter& parameter = *layout.parameters[i];
      parameter.weight = view(weights, layout.offsets[i], parameter.shard.extent);
    }
  }
};

std::vector<Bucket> make_buckets(tensor::ParameterStore& store, const comm::Communicator& data_axis,
                                 device::Arena& arena, std::int64_t lanes) {
  std::vector<Bucket> buckets;
  for (int number = 0; number < store.num_buckets(); ++number) {
    BucketLayout layout = lay_out_bucket(store, number, data_axis.rank(), data_axis.size());
    const std::int64_t elements = layout.elements;
    float* const weights =
        is_gradient_only(layout) ? nullptr : allocate_bucket(arena, elements, MemoryClass::parameters);
    buckets.push_back({std::move(layout), weights, LaneSum(allocate_lanes(arena, elements, lanes), elements)});
  }
  return buckets;
}

std::vector<comm::Cuts> cuts_of(const std::vector<Bucket>& buckets) {
  std::vector<comm::Cuts> cuts;
  for (const Bucket& bucket : buckets) cuts.push_back(bucket.layout.cuts);
  return cuts;
}

}  // namespace

struct GradientSync::State {
  State(const device::Device& the_device, tensor::ParameterStore& store, comm::Communicator& data_axis,
        device::Arena& arena, const GradientSyncOptions& the_options)
      : device(the_device),
        options(the_options),
        buckets(make_buckets(store, data_axis, arena, options.lanes)),
        reductions(device, data_axis, arena, cuts_of(buckets), options.keep_whole) {}

  [[nodiscard]] Bucket& bucket(int number) { return buckets[static_cast<std::size_t>(number)]; }
  [[nodiscard]] std::int64_t micro_batches_per_lane() const { return options.micro_batches / options.lanes; }

  const device::Device& device;
  GradientSyncOptions options;
  std::vector<Bucket> buckets;
  ReductionQueue reductions;
  double exposed_seconds = 0;
};

GradientSync::GradientSync(const device::Device& device, tensor::ParameterStore& store, comm::Communicator& data_axis,
                           device::Arena& arena, const GradientSyncOptions& options) {
  TRIREME_EXPECT(options.lanes > 0 && (options.lanes & (options.lanes - 1)) == 0);
  TRIREME_EXPECT(options.micro_batches % options.lanes == 0);
  state_ = std::make_unique<State>(device, store, data_axis, arena, options);
  for (const Bucket& bucket : state_->buckets) {
    bucket.point_weights();
    bucket.point_gradients();
  }
}

GradientSync::~GradientSync() = default;

void GradientSync::begin_step() {
  for (Bucket& bucket : state_->buckets) {
    bucket.micro_batches_done = 0;
    bucket.gradients.begin_step();
    bucket.point_gradients();
  }
}

kernels::Write GradientSync::write(int bucket) const {
  const std::int64_t done = state_->bucket(bucket).micro_batches_done;
  return done % state_->micro_batches_per_lane() == 0 ? kernels::Write::set : kernels::Write::add;
}

void GradientSync::bucket_done(int bucket) {
  Bucket& done = state_->bucket(bucket);
  TRIREME_EXPECT(done.micro_batches_done < state_->options.micro_batches);
  ++done.micro_batches_done;
  if (done.micro_batches_done % state_->micro_batches_per_lane() != 0) return;
  done.gradients.lane_done(state_->device);
  done.point_gradients();
  if (done.micro_batches_done == state_->options.micro_batches) {
    state_->reductions.push(static_cast<std::size_t>(bucket), done.gradients.current());
  }
}

void GradientSync::poll() {
  state_->reductions.poll();
}

void GradientSync::finish() {
  for ([[maybe_unused]] const Bucket& bucket : state_->buckets) {
    TRIREME_EXPECT(bucket.layout.elements == 0 || bucket.micro_batches_done == state_->options.micro_batches);
  }
  const Timer timer;
  state_->reductions.finish();
  state_->exposed_seconds = timer.seconds();
}

double GradientSync::exposed_seconds() const noexcept {
  return state_->exposed_seconds;
}

int GradientSync::num_buckets() const noexcept {
  return static_cast<int>(state_->buckets.size());
}

const BucketLayout& GradientSync::layout(int bucket) const {
  return state_->bucket(bucket).layout;
}

Tensor GradientSync::weights(int bucket) const {
  const Bucket& wanted = state_->bucket(bucket);
  return view(wanted.weights, 0, {wanted.layout.elements});
}

Tensor GradientSync::gradients(int bucket) const {
  const Bucket& wanted = state_->bucket(bucket);
  return view(wanted.gradients.current(), 0, {wanted.layout.elements});
}

}  // namespace trireme::optim
