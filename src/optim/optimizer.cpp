#include "trireme/optim/optimizer.hpp"

#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/kernels/adamw.hpp"
#include "trireme/kernels/reduce.hpp"

#include "optim/bucket_layout.hpp"
#include "optim/decay_groups.hpp"

namespace trireme::optim {
namespace {

using tensor::Parameter;

float* allocate_moments(device::Arena& arena, std::int64_t elements) {
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
  return static_cast<float*>(bytes == 0 ? nullptr : arena.allocate(bytes, device::MemoryClass::moments));
}

float* at(float* base, std::int64_t offset) {
  return base == nullptr ? nullptr : base + offset;
}

tensor::Shard rectangle_of(const OwnedRows& rows) {
  tensor::Shard rectangle = rows.parameter->shard;
  if (rectangle.extent.num_dims() == 0) return rectangle;
  rectangle.offset[0] += rows.begin;
  rectangle.extent[0] = rows.end - rows.begin;
  return rectangle;
}

/// The bucket of the second gradient of this bucket's parameter, or -1.
int second_gradient_of(const GradientSync& gradients, int bucket) {
  const BucketLayout& layout = gradients.layout(bucket);
  for (int other = 0; other < gradients.num_buckets(); ++other) {
    const BucketLayout& candidate = gradients.layout(other);
    if (!is_gradient_only(candidate) || layout.parameters.front()->name != candidate.parameters.front()->tied_to)
      continue;
    TRIREME_EXPECT(layout.parameters.size() == 1 && layout.cuts == candidate.cuts);
    return other;
  }
  return -1;
}

/// What the optimizer keeps of one bucket with weights.
struct Bucket {
  int number = 0;
  int second = -1;                 // bucket of the second gradient
  std::vector<OwnedRows> updated;  // rows that this rank updates: its own, or all without sharding
  std::int64_t moments_begin = 0;  // the element of the bucket that moments[0] belongs to
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  std::unique_ptr<comm::PieceAllGather> gather;
};

}  // namespace

struct Optimizer::State {
  State(const device::Device& the_device, GradientSync& the_gradients, comm::Communicator& the_data_axis,
        comm::Communicator& the_world, const OptimizerOptions& the_options, const ShardingOptions& the_sharding)
      : device(the_device),
        gradients(the_gradients),
        data_axis(the_data_axis),
        world(the_world),
        options(the_options),
        sharded(the_sharding.zero_stage > 0) {}

  void add_bucket(int number, device::Arena& arena);
  void update_rows(const Bucket& bucket, const OwnedRows& rows, kernels::AdamW settings) const;
  void gather(float* (*part)(const State&, const Bucket&));

  [[nodiscard]] const float* gradient_of(const OwnedRows& rows, int bucket) const {
    return bucket < 0 ? nullptr : static_cast<const float*>(gradients.gradients(bucket).data) + rows.bucket_offset;
  }
  [[nodiscard]] float* weights_of(const Bucket& bucket) const {
    return static_cast<float*>(gradients.weights(bucket.number).data);
  }

  const device::Device& device;
  GradientSync& gradients;
  comm::Communicator& data_axis;
  comm::Communicator& world;
  OptimizerOptions options;
  bool sharded;
  std::vector<Bucket> buckets;
};

void Optimizer::State::add_bucket(int number, device::Arena& arena) {
  const BucketLayout& layout = gradients.layout(number);
  if (layout.parameters.empty() || is_gradient_only(layout)) return;
  Bucket bucket{.number = number, .second = second_gradient_of(gradients, number)};
  std::int64_t moments_end = layout.elements;
  if (sharded) {
    const auto own = static_cast<std::size_t>(comm::owned_piece(data_axis.rank(), data_axis.size()));
    bucket.moments_begin = layout.cuts[own];
    moments_end = layout.cuts[own + 1];
  }
  bucket.updated = rows_between(layout, bucket.moments_begin, moments_end);
  bucket.first_moment = allocate_moments(arena, moments_end - bucket.moments_begin);
  bucket.second_moment = allocate_moments(arena, moments_end - bucket.moments_begin);
  // Smaller tags are those of the reductions.
  const int tag = 2 * gradients.num_buckets() + number;
  bucket.gather = std::make_unique<comm::PieceAllGather>(data_axis, layout.cuts, tag);
  buckets.push_back(std::move(bucket));
}

void Optimizer::State::update_rows(const Bucket& bucket, const OwnedRows& rows, kernels::AdamW settings) const {
  if (!rows.parameter->trainable) return;
  settings.weight_decay = rows.parameter->decays ? options.weight_decay : 0;
  const std::int64_t moment = rows.bucket_offset - bucket.moments_begin;
  kernels::adamw_update(device, settings, rows.elements, weights_of(bucket) + rows.bucket_offset,
                        gradient_of(rows, bucket.number), gradient_of(rows, bucket.second),
                        bucket.first_moment + moment, bucket.second_moment + moment);
}

/// Gives every data rank all pieces of one array of each bucket.
void Optimizer::State::gather(float* (*part)(const State&, const Bucket&)) {
  for (const Bucket& bucket : buckets) bucket.gather->start(part(*this, bucket));
  for (const Bucket& bucket : buckets) bucket.gather->finish();
}

Optimizer::Optimizer(const device::Device& device, GradientSync& gradients, comm::Communicator& data_axis,
                     comm::Communicator& world, device::Arena& arena, const OptimizerOptions& options,
                     const ShardingOptions& sharding)
    : state_(std::make_unique<State>(device, gradients, data_axis, world, options, sharding)) {
  for (int number = 0; number < gradients.num_buckets(); ++number) state_->add_bucket(number, arena);
}

Optimizer::~Optimizer() = default;

double Optimizer::gradient_norm() {
  kernels::ExactSum sum;
  for (const Bucket& bucket : state_->buckets) {
    // Own rows only, also without sharding: each element counts once.
    for (const OwnedRows& rows : state_->gradients.layout(bucket.number).owned) {
      const Parameter& parameter = *rows.parameter;
      if (!parameter.trainable) continue;
      // A vector is one row: its runs begin at its first element, and cuts fall on their borders.
      const bool is_vector = parameter.shard.extent.num_dims() < 2;
      const std::int64_t num_rows = is_vector ? 1 : rows.end - rows.begin;
      kernels::sum_of_squares(state_->device, num_rows, rows.elements / num_rows,
                              state_->gradient_of(rows, bucket.number), state_->gradient_of(rows, bucket.second), sum);
    }
  }
  state_->world.all_reduce_sum(sum.words());
  return std::sqrt(sum.value());
}

void Optimizer::update(double learning_rate, double gradient_scale, std::int64_t update) {
  const kernels::AdamW settings{.learning_rate = learning_rate,
                                .beta1 = state_->options.beta1,
                                .beta2 = state_->options.beta2,
                                .epsilon = state_->options.epsilon,
                                .gradient_scale = gradient_scale,
                                .update = update};
  for (const Bucket& bucket : state_->buckets) {
    for (const OwnedRows& rows : bucket.updated) state_->update_rows(bucket, rows, settings);
    if (!state_->sharded) continue;
    bucket.gather->start(state_->weights_of(bucket));
    // The pieces of earlier buckets travel while the next one is updated.
    for (const Bucket& earlier : state_->buckets) earlier.gather->poll();
  }
  for (const Bucket& bucket : state_->buckets) bucket.gather->finish();
}

std::vector<OwnedState> Optimizer::owned_state() {
  std::vector<OwnedState> states;
  for (const Bucket& bucket : state_->buckets) {
    for (const OwnedRows& rows : state_->gradients.layout(bucket.number).owned) {
      const std::int64_t moment = rows.bucket_offset - bucket.moments_begin;
      states.push_back({.parameter = rows.parameter,
                        .rectangle = rectangle_of(rows),
                        .weight = at(state_->weights_of(bucket), rows.bucket_offset),
                        .first_moment = at(bucket.first_moment, moment),
                        .second_moment = at(bucket.second_moment, moment)});
    }
  }
  return states;
}

void Optimizer::share_loaded_state() {
  state_->gather([](const State& state, const Bucket& bucket) { return state.weights_of(bucket); });
  if (state_->sharded) return;
  state_->gather([](const State&, const Bucket& bucket) { return bucket.first_moment; });
  state_->gather([](const State&, const Bucket& bucket) { return bucket.second_moment; });
}

std::string Optimizer::describe_groups() const {
  std::vector<const Parameter*> parameters;
  for (const Bucket& bucket : state_->buckets) {
    const BucketLayout& layout = state_->gradients.layout(bucket.number);
    parameters.insert(parameters.end(), layout.parameters.begin(), layout.parameters.end());
  }
  return describe_decay_groups(parameters);
}

double clip_factor(double norm, double clip_norm) {
  return clip_norm == 0 || norm <= clip_norm ? 1 : clip_norm / norm;
}

}  // namespace trireme::optim
