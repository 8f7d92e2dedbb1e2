#include "parallel/optim/toy_training.hpp"

#include <functional>
#include <string_view>

namespace trireme::testing {
namespace {

/// splitmix64: every input bit changes every output bit.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

std::uint64_t number_of(std::string_view name) {
  std::uint64_t hash = 0;
  for (char letter : name) hash = mix(hash ^ static_cast<unsigned char>(letter));
  return hash;
}

float uniform(std::uint64_t key) {
  return static_cast<float>(mix(key) >> 40U) / 16777216.0F - 0.5F;
}

tensor::Parameter parameter(const std::string& name, const tensor::Shape& shape, int bucket) {
  tensor::Parameter made;
  made.name = name;
  made.global_shape = shape;
  made.shard = tensor::whole(shape);
  made.bucket = bucket;
  made.decays = shape.num_dims() == 2;
  return made;
}

}  // namespace

float toy_gradient(std::int64_t step, std::int64_t micro_batch, const std::string& name, std::int64_t element) {
  const auto at = static_cast<std::uint64_t>(step * 1000 + micro_batch);
  return uniform(mix(number_of(name) ^ mix(at)) + static_cast<std::uint64_t>(element)) / 32;
}

ToyTraining::ToyTraining(comm::Communicator& data_axis, const ToyOptions& options)
    : data_axis_(data_axis), options_(options), device_(device::DeviceOptions{}), arena_(std::size_t{4} << 20U) {
  fill_store(options);
  const int ranks = data_axis.size();
  gradients_ =
      std::make_unique<optim::GradientSync>(device_, store_, data_axis, arena_,
                                            optim::GradientSyncOptions{.micro_batches = options.micro_batches / ranks,
                                                                       .lanes = options.lanes / ranks,
                                                                       .keep_whole = options.zero_stage == 0});
  optimizer_ =
      std::make_unique<optim::Optimizer>(device_, *gradients_, data_axis, data_axis, arena_, optim::OptimizerOptions{},
                                         optim::ShardingOptions{.zero_stage = options.zero_stage});
  draw_weights();
}

// Sizes that nothing divides, one row, pairs, an empty tensor, a frozen one, a vector of several runs.
void ToyTraining::fill_store(const ToyOptions& options) {
  store_.add(parameter("token", {97, 36}, 0));
  store_.add(parameter("positions", {37, 36}, 1));
  store_.add(parameter("gain", {36}, 1));
  store_.add(parameter("matrix", {36, 51}, 2));
  store_.add(parameter("pair", {2}, 2));
  store_.add(parameter("long", {3011}, 2));
  store_.add(parameter("frozen", {5, 36}, 2)).trainable = false;
  store_.add(parameter("empty", {0}, 2));
  store_.add(parameter("row", {1, 130}, 2));
  store_.add(parameter("other_pair", {2}, 3));
  tensor::Parameter head = parameter("head", {97, 36}, 4);
  if (options.tied) head.tied_to = "token";
  store_.add(head);
  for (tensor::Parameter& each : store_.all()) {
    if (options.only_small && each.global_shape.size() != 2) each.trainable = false;
  }
}

void ToyTraining::draw_weights() {
  for (tensor::Parameter& each : store_.all()) {
    if (!each.tied_to.empty()) continue;
    for (std::int64_t i = 0; i < each.weight.size(); ++i) {
      each.weight.as<float>()[i] = uniform(number_of(each.name) + static_cast<std::uint64_t>(i));
    }
  }
}

void ToyTraining::backward(std::int64_t micro_batch) {
  for (int bucket = store_.num_buckets() - 1; bucket >= 0; --bucket) {
    const kernels::Write write = gradients_->write(bucket);
    for (tensor::Parameter* each : store_.bucket(bucket)) {
      float* const gradient = each->gradient.as<float>();
      for (std::int64_t i = 0; i < each->gradient.size(); ++i) {
        const float value = toy_gradient(steps_done_, micro_batch, each->name, i);
        gradient[i] = write == kernels::Write::set ? value : gradient[i] + value;
      }
    }
    gradients_->bucket_done(bucket);
    gradients_->poll();
  }
}

void ToyTraining::step() {
  const std::int64_t count = options_.micro_batches / data_axis_.size();
  gradients_->begin_step();
  for (std::int64_t i = 0; i < count; ++i) backward(data_axis_.rank() * count + i);
  gradients_->finish();
  norm_ = optimizer_->gradient_norm();
  ++steps_done_;
  optimizer_->update(1e-3, optim::clip_factor(norm_, 0.5), steps_done_);
}

}  // namespace trireme::testing
