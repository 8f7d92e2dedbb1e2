#include "trireme/optim/optimizer.hpp"

#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/kernels/adamw.hpp"
#include "trireme/kernels/reduce.hpp"

#include "optim/bucket_memory.hpp"
#include "optim/decay_groups.hpp"

namespace trireme::optim {
namespace {

using tensor::Parameter;

/// The bucket of the second gradient of this bucket's entries, or -1.
int second_gradient_of(const Weights& weights, int bucket) {
  const BucketLayout& layout = weights.layout(bucket);
  for (int other = 0; other < weights.num_buckets(); ++other) {
    const BucketLayout& candidate = weights.layout(other);
    if (!candidate.gradient_only() || layout.parameters.front()->name != candidate.parameters.front()->tied_to)
      continue;
    TRIREME_EXPECT(layout.parameters.size() == candidate.parameters.size() && layout.cuts == candidate.cuts);
    return other;
  }
  return -1;
}

/// What the optimizer keeps of one bucket with weights; no moments of one that follows.
struct Bucket {
  int number = 0;
  const BucketLayout* layout = nullptr;
  int second = -1;  // bucket of the second gradient
  float* first_moment = nullptr;
  float* second_moment = nullptr;
};

/// Where in the memory of the own piece these rows begin.
std::int64_t own_offset(const Bucket& bucket, const OwnedRows& rows) {
  return rows.bucket_offset - bucket.layout->own_begin;
}

}  // namespace

struct Optimizer::State {
  void add_bucket(int number, device::Arena& arena);
  void update_rows(const Bucket& bucket, const OwnedRows& rows, kernels::AdamW settings) const;
  void add_squares(const Bucket& bucket, const OwnedRows& rows, kernels::ExactSum& sum) const;

  [[nodiscard]] const float* gradient_of(const Bucket& bucket, const OwnedRows& rows, int source) const {
    return source < 0 ? nullptr : gradients.own(source).data() + own_offset(bucket, rows);
  }

  const device::Device& device;
  Weights& weights;
  GradientSync& gradients;
  const DataAxis& data_axis;
  comm::Communicator& world;
  OptimizerOptions options;
  std::vector<Bucket> buckets{};
};

void Optimizer::State::add_bucket(int number, device::Arena& arena) {
  const BucketLayout& layout = weights.layout(number);
  if (layout.parameters.empty() || layout.gradient_only()) return;
  Bucket bucket{.number = number, .layout = &layout};
  if (!layout.follows()) {
    bucket.second = second_gradient_of(weights, number);
    bucket.first_moment = allocate_floats(arena, layout.own_elements(), device::MemoryClass::moments);
    bucket.second_moment = allocate_floats(arena, layout.own_elements(), device::MemoryClass::moments);
  }
  buckets.push_back(bucket);
}

void Optimizer::State::update_rows(const Bucket& bucket, const OwnedRows& rows, kernels::AdamW settings) const {
  if (!rows.parameter->trainable) return;
  settings.weight_decay = rows.parameter->decays ? options.weight_decay : 0;
  const std::int64_t offset = own_offset(bucket, rows);
  kernels::adamw_update(device, settings, rows.elements, weights.own(bucket.number).data() + offset,
                        gradient_of(bucket, rows, bucket.number), gradient_of(bucket, rows, bucket.second),
                        bucket.first_moment + offset, bucket.second_moment + offset);
}

void Optimizer::State::add_squares(const Bucket& bucket, const OwnedRows& rows, kernels::ExactSum& sum) const {
  const Parameter& parameter = *rows.parameter;
  if (!parameter.trainable || !parameter.counted) return;
  // A vector is one row: its runs begin at its first element, and cuts fall on their borders.
  const bool is_vector = parameter.shard.extent.num_dims() < 2;
  const std::int64_t num_rows = is_vector ? 1 : rows.end - rows.begin;
  kernels::sum_of_squares(device, num_rows, rows.elements / num_rows, gradient_of(bucket, rows, bucket.number),
                          gradient_of(bucket, rows, bucket.second), sum);
}

Optimizer::Optimizer(const device::Device& device, Weights& weights, GradientSync& gradients, const DataAxis& data_axis,
                     comm::Communicator& world, device::Arena& arena, const OptimizerOptions& options)
    : state_(new State{.device = device,
                       .weights = weights,
                       .gradients = gradients,
                       .data_axis = data_axis,
                       .world = world,
                       .options = options}) {
  for (int number = 0; number < weights.num_buckets(); ++number) state_->add_bucket(number, arena);
}

Optimizer::~Optimizer() = default;

double Optimizer::gradient_norm() {
  kernels::ExactSum sum;
  for (const Bucket& bucket : state_->buckets) {
    if (bucket.layout->follows() || !state_->data_axis.counts()) continue;
    for (const OwnedRows& rows : bucket.layout->owned) state_->add_squares(bucket, rows, sum);
  }
  state_->world.all_reduce_sum(sum.words());
  return std::sqrt(sum.value());
}

void Optimizer::update(double learning_rate, double gradient_scale, std::int64_t update,
                       const AfterBucket& after_bucket) {
  const kernels::AdamW settings{.learning_rate = learning_rate,
                                .beta1 = state_->options.beta1,
                                .beta2 = state_->options.beta2,
                                .epsilon = state_->options.epsilon,
                                .gradient_scale = gradient_scale,
                                .update = update};
  for (const Bucket& bucket : state_->buckets) {
    if (bucket.layout->follows()) continue;
    for (const OwnedRows& rows : bucket.layout->owned) state_->update_rows(bucket, rows, settings);
    state_->weights.start_share(bucket.number);
    if (after_bucket) after_bucket(bucket.number);
    // The pieces of earlier buckets travel while the next one is updated.
    state_->weights.poll();
  }
  state_->weights.finish_share();
}

std::vector<StatePiece> Optimizer::state() {
  std::vector<StatePiece> pieces;
  for (const Bucket& bucket : state_->buckets) {
    for (const OwnedRows& rows : bucket.layout->owned) {
      const std::int64_t offset = own_offset(bucket, rows);
      pieces.push_back({.parameter = rows.parameter,
                        .rectangle = rows.rectangle(),
                        .weight = at(state_->weights.own(bucket.number).data(), offset),
                        .first_moment = at(bucket.first_moment, offset),
                        .second_moment = at(bucket.second_moment, offset),
                        .counted = rows.parameter->counted && !bucket.layout->follows() && state_->data_axis.counts()});
    }
  }
  return pieces;
}

void Optimizer::share_loaded_state() {
  for (const Bucket& bucket : state_->buckets) state_->weights.start_share(bucket.number);
  state_->weights.finish_share();
}

std::string Optimizer::decay_lines() const {
  std::vector<const Parameter*> parameters;
  for (const Bucket& bucket : state_->buckets) {
    parameters.insert(parameters.end(), bucket.layout->parameters.begin(), bucket.layout->parameters.end());
  }
  return lines_of(parameters);
}

double clip_factor(double norm, double clip_norm) {
  return clip_norm == 0 || norm <= clip_norm ? 1 : clip_norm / norm;
}

}  // namespace trireme::optim
