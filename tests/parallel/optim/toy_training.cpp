#include "parallel/optim/toy_training.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "trireme/kernels/cast.hpp"

namespace trireme::testing {
namespace {

constexpr int token = 0;
constexpr int positions = 1;
constexpr int first_block = 2;
constexpr int last_block = 4;
constexpr int final_norm = 5;
constexpr int head = 6;
// Bucket 7 has no entries.
constexpr int single = 8;
constexpr float poison = std::numeric_limits<float>::quiet_NaN();

tensor::Parameter entry(const std::string& name, const tensor::Shape& shape, int bucket) {
  tensor::Parameter made;
  made.name = name;
  made.global_shape = shape;
  made.shard = tensor::whole(shape);
  made.bucket = bucket;
  made.decays = shape.num_dims() == 2;
  return made;
}

/// Two entries, as the slices of the tensor axis are.
void add_table(tensor::ParameterStore& store, const std::string& name, int bucket, const std::string& tied_to) {
  for (const std::int64_t begin : {0, 49}) {
    tensor::Parameter slice = entry(name, {97, 36}, bucket);
    slice.shard.offset[0] = begin;
    slice.shard.extent[0] = begin == 0 ? 49 : 48;
    slice.tied_to = tied_to;
    store.add(slice);
  }
}

/// The element of the whole tensor that the entry's first one is (entries are cut by rows only).
std::int64_t first_element(const tensor::Shard& shard) {
  const tensor::Shape& extent = shard.extent;
  if (extent.num_dims() == 0) return 0;
  return shard.offset[0] * (extent.num_dims() == 2 ? extent[1] : 1);
}

optim::WeightsOptions weights_options(const ToyOptions& options) {
  return {.sharded = options.zero_stage == 3,
          .compute = options.compute,
          .in_turn = {{.buckets = {first_block, first_block + 1, last_block}}}};
}

optim::GradientSyncOptions sync_options(const ToyOptions& options) {
  return {.micro_batches = options.sum.micro_batches, .lanes = options.sum.lanes, .sharded = options.sum.sharded};
}

/// Writes NaN where no entry is, from `begin` of the bucket on to its end.
void poison_gaps(const optim::BucketLayout& layout, float* memory, std::int64_t begin, std::int64_t end) {
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const std::int64_t after = layout.offsets[i] + layout.parameters[i]->shard.extent.size();
    const std::int64_t next = i + 1 < layout.offsets.size() ? layout.offsets[i + 1] : layout.elements;
    for (std::int64_t gap = std::max(begin, after); gap < std::min(end, next); ++gap) memory[gap - begin] = poison;
  }
}

}  // namespace

std::string text_of(const ToyOptions& options) {
  return fmt::format("ZeRO {}, group {}, {} micro-batches in {} lanes{}{}, {}", options.zero_stage, options.sum.group,
                     options.sum.micro_batches, options.sum.lanes, options.sum.sharded ? ", sharded" : "",
                     options.tied ? ", tied" : "", name_of(options.compute));
}

bool holds(const tensor::Tensor& weight, const float* numbers) {
  std::vector<float> source(numbers, numbers + weight.size());
  std::vector<std::byte> expected(weight.bytes());
  kernels::cast(device::Device({}), {.data = source.data(), .shape = weight.shape},
                {.data = expected.data(), .shape = weight.shape, .dtype = weight.dtype});
  return std::equal(expected.begin(), expected.end(), static_cast<const std::byte*>(weight.data));
}

void fill_store(tensor::ParameterStore& store, const ToyOptions& options) {
  add_table(store, "token", token, "");
  store.add(entry("positions", {37, 36}, positions));
  store.add(entry("matrix", {36, 51}, first_block));
  store.add(entry("pair", {2}, first_block));
  store.add(entry("long", {3011}, first_block));
  store.add(entry("frozen", {5, 36}, first_block)).trainable = false;
  store.add(entry("empty", {0}, first_block));
  store.add(entry("row", {1, 130}, first_block));
  store.add(entry("other_pair", {2}, first_block + 1));
  store.add(entry("square", {20, 20}, last_block));
  store.add(entry("replica", {3, 7}, last_block)).counted = false;
  store.add(entry("gain", {36}, final_norm));
  add_table(store, "head", head, options.tied ? "token" : "");
  store.add(entry("single", {1}, single));
  for (tensor::Parameter& each : store.all()) {
    if (options.only_small && each.global_shape.size() != 2) each.trainable = false;
  }
}

ToyTraining::ToyTraining(comm::Communicator& data_axis, const ToyOptions& options)
    : options_(options),
      device_(device::DeviceOptions{}),
      arena_(std::size_t{4} << 20U),
      data_axis_((fill_store(store_, options), data_axis), options.sum.group),
      weights_(device_, store_, data_axis_, arena_, weights_options(options)),
      gradients_(device_, data_axis_, weights_, arena_, sync_options(options)),
      optimizer_(device_, weights_, gradients_, data_axis_, data_axis, arena_, {}) {
  for (const optim::StatePiece& piece : optimizer_.state()) {
    const std::int64_t first = first_element(piece.rectangle);
    for (std::int64_t i = 0; i < piece.rectangle.extent.size(); ++i) {
      piece.weight[i] = toy_weight(piece.parameter->name, first + i);
    }
  }
  for (int bucket = 0; bucket < weights_.num_buckets(); ++bucket) {
    const optim::BucketLayout& layout = weights_.layout(bucket);
    if (weights_.own(bucket).empty()) continue;
    poison_gaps(layout, weights_.own(bucket).data(), layout.own_begin, layout.own_end);
  }
  optimizer_.share_loaded_state();
}

void ToyTraining::read(int bucket) {
  if (reference_ == nullptr) return;
  for (const tensor::Parameter* each : store_.bucket(bucket)) {
    if (!each->tied_to.empty() || each->weight.size() == 0) continue;
    const bool is_matrix = each->global_shape.num_dims() == 2;
    const float* const expected = reference_->at(each->name).weight.data() + first_element(each->shard);
    wrong_weights_ += each->weight.dtype != (is_matrix ? options_.compute : Dtype::f32);
    wrong_weights_ += !holds(each->weight, expected);
  }
}

void ToyTraining::write(int bucket, std::int64_t micro_batch) {
  const kernels::Write write = gradients_.write(bucket);
  const optim::BucketLayout& layout = weights_.layout(bucket);
  for (tensor::Parameter* each : store_.bucket(bucket)) {
    float* const gradient = each->gradient.as<float>();
    const ToyGradient values(steps_done_, micro_batch, each->name);
    const std::int64_t first = first_element(each->shard);
    for (std::int64_t i = 0; i < each->gradient.size(); ++i) {
      const float value = values[first + i];
      gradient[i] = write == kernels::Write::set ? value : gradient[i] + value;
    }
  }
  if (layout.elements > 0) {
    poison_gaps(layout, layout.parameters.front()->gradient.as<float>(), 0, layout.elements);
  }
}

void ToyTraining::micro_batch(std::int64_t number) {
  for (int bucket : {token, positions}) weights_.acquire(bucket);
  weights_.prefetch(first_block);
  for (int bucket : {token, positions}) read(bucket);
  for (int bucket : {token, positions}) weights_.release(bucket);
  for (int block = first_block; block <= last_block; ++block) {
    weights_.acquire(block);
    weights_.prefetch(block + 1);
    read(block);
    weights_.release(block);
    weights_.poll();
  }

  const int table = options_.tied ? token : head;
  for (int bucket : {final_norm, table, single}) weights_.acquire(bucket);
  for (int bucket : {final_norm, table, single}) read(bucket);
  (void)gradients_.write(final_norm);
  write(head, number);
  write(final_norm, number);
  for (int bucket : {head, final_norm, 7}) gradients_.bucket_done(bucket);
  for (int bucket : {table, single, final_norm}) weights_.release(bucket);

  for (int block = last_block; block >= first_block; --block) {
    weights_.acquire(block);
    if (block > first_block) weights_.prefetch(block - 1);
    read(block);
    write(block, number);
    weights_.release(block);
    gradients_.bucket_done(block);
    gradients_.poll();
  }
  for (int bucket : {token, positions, single}) write(bucket, number);
  for (int bucket : {token, single, positions}) gradients_.bucket_done(bucket);
}

void ToyTraining::step() {
  gradients_.begin_step();
  for (std::int64_t i = 0; i < options_.sum.micro_batches; ++i) {
    micro_batch(data_axis_.whole().rank() * options_.sum.micro_batches + i);
  }
  gradients_.finish();
  norm_ = optimizer_.gradient_norm();
  ++steps_done_;
  optimizer_.update(1e-3, optim::clip_factor(norm_, 0.5), steps_done_);
}

void ToyTraining::compare_weights() {
  for (int bucket = 0; bucket < weights_.num_buckets(); ++bucket) {
    weights_.acquire(bucket);
    read(bucket);
    weights_.release(bucket);
  }
}

}  // namespace trireme::testing
