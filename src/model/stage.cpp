#include "trireme/model/stage.hpp"

#include <algorithm>

#include "model/layer_options.hpp"

namespace trireme::model {

namespace {

using tensor::Tensor;

/// A tensor over a batch's array, which the kernels only read.
template <class T>
Tensor view_of(const std::vector<T>& values, const tensor::Shape& shape) {
  if (values.empty()) return {};
  return {.data = const_cast<T*>(values.data()), .shape = shape, .dtype = dtype_of<T>};
}

layers::Sequences sequences_of(const data::Batch& batch, const StepKey& key, bool training) {
  const std::int64_t rows = batch.sequences * batch.context;
  return {.batch = batch.sequences,
          .tokens = batch.context,
          .ids = view_of(batch.input, {rows}),
          .positions = view_of(batch.positions, {rows}),
          .starts = view_of(batch.sequence_starts, {batch.sequences, batch.context}),
          .training = training,
          .seed = key.seed,
          .step = key.step,
          .first_sequence = batch.first_sequence};
}

std::span<const float> floats(const Tensor& values, std::int64_t count) {
  return {values.as<float>(), static_cast<std::size_t>(count)};
}

/// The weights of a bucket, readable for the life of this object.
class Reading {
 public:
  Reading(optim::Weights* weights, int bucket) : weights_(weights), bucket_(bucket) {
    if (weights_ != nullptr) weights_->acquire(bucket_);
  }
  ~Reading() {
    if (weights_ != nullptr) weights_->release(bucket_);
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  optim::Weights* weights_;
  int bucket_;
};

void prefetch(optim::Weights* weights, const layers::Block& block) {
  if (weights != nullptr) weights->prefetch(block.bucket());
}

}  // namespace

bool RecomputeOptions::applies(std::int64_t layer) const {
  return layers.empty() || std::find(layers.begin(), layers.end(), layer) != layers.end();
}

Stage::Stage(const device::Device& device, kernels::Gemm& gemm, layers::TensorAxis& axis, const ModelOptions& options,
             const std::vector<ChunkRange>& chunks, const RecomputeOptions& recompute)
    : device_(device), gemm_(gemm), axis_(axis), options_(resolved(options)), recompute_(recompute) {
  // Every stage has every number, so that what is not here is an empty bucket.
  parameters_.reserve_buckets(BucketNumbers::far_table(options_.layers) + 1);
  for (const ChunkRange& range : chunks) add_chunk(range);
}

void Stage::add_chunk(const ChunkRange& range) {
  if (range.embedding) {
    const bool learned = options_.position == Position::learned;
    const layers::EmbeddingOptions embedding{.vocab = options_.vocab,
                                             .context = options_.context,
                                             .width = options_.width,
                                             .learned_positions = learned,
                                             .initial_deviation = options_.initial_deviation,
                                             .dropout = options_.dropout,
                                             .token_bucket = BucketNumbers::token,
                                             .position_bucket = BucketNumbers::positions};
    embedding_.emplace(parameters_, embedding, axis_);
    if (options_.tied_embeddings && !range.head) {
      add_following_gradient();
    }
  }
  Chunk& chunk = chunks_.emplace_back(Chunk{.range = range});
  for (std::int64_t index = range.first_block; index < range.first_block + range.num_blocks; ++index) {
    chunk.blocks.emplace_back(parameters_, block_options(options_, index, BucketNumbers::block(index)), axis_);
  }
  if (range.head) {
    const int norm_bucket = BucketNumbers::final_norm(options_.layers);
    const layers::HeadOptions head{.norm = norm_options(options_, "final_norm", norm_bucket),
                                   .vocab = options_.vocab,
                                   .width = options_.width,
                                   .tied = options_.tied_embeddings,
                                   .far_table = options_.tied_embeddings && !range.embedding,
                                   .initial_deviation = options_.initial_deviation,
                                   .weight_bucket = BucketNumbers::head(options_.layers),
                                   .far_table_bucket = BucketNumbers::far_table(options_.layers)};
    head_.emplace(parameters_, head, axis_);
  }
}

/// The second gradient of a table whose head is on another stage: only what the optimizer adds stands here.
void Stage::add_following_gradient() {
  for (const tensor::Parameter* entry : parameters_.entries(layers::token_table_name)) {
    tensor::Parameter second = *entry;
    second.name = layers::head_table_name;
    second.tied_to = layers::token_table_name;
    second.follows = true;
    second.bucket = BucketNumbers::head(options_.layers);
    parameters_.add(second);
  }
}

std::vector<int> Stage::block_buckets() const {
  std::vector<int> buckets;
  for (const Chunk& chunk : chunks_) {
    for (const layers::Block& block : chunk.blocks) buckets.push_back(block.bucket());
  }
  return buckets;
}

void Stage::draw_weights(std::uint64_t seed) {
  for (const tensor::Parameter& parameter : parameters_.all()) {
    if (parameter.tied_to.empty()) kernels::draw_initial(device_, seed, parameter);
  }
}

int Stage::table_bucket() const {
  if (!options_.tied_embeddings) return BucketNumbers::head(options_.layers);
  return embedding_ ? BucketNumbers::token : BucketNumbers::far_table(options_.layers);
}

Recompute Stage::recompute_of(std::int64_t block) const {
  return recompute_.applies(block) ? recompute_.mode : Recompute::none;
}

Tensor Stage::input(int chunk, int slot, std::int64_t rows) const {
  const Slot& held = chunks_[static_cast<std::size_t>(chunk)].slots[static_cast<std::size_t>(slot)];
  return held.input.rows(0, axis_.own_rows(rows).count);
}

Tensor Stage::output(int chunk, int slot, std::int64_t rows) const {
  const Chunk& wanted = chunks_[static_cast<std::size_t>(chunk)];
  return block_input(wanted, wanted.slots[static_cast<std::size_t>(slot)], wanted.blocks.size(),
                     axis_.own_rows(rows).count);
}

Tensor Stage::gradient(int chunk, int slot, std::int64_t rows) const {
  const Slot& held = chunks_[static_cast<std::size_t>(chunk)].slots[static_cast<std::size_t>(slot)];
  return held.gradient.rows(0, axis_.own_rows(rows).count);
}

/// The input of block number `block` of the chunk, which is the output of the one before; of the number after the last,
/// the chunk's output.
Tensor Stage::block_input(const Chunk& chunk, const Slot& slot, std::size_t block, std::int64_t own_rows) const {
  TRIREME_EXPECT(block <= chunk.blocks.size());
  const Tensor& held = block == 0 ? slot.input : slot.blocks[block - 1].output;
  return held.rows(0, own_rows);
}

/// The activations of a block in this slot; of a block that is made again, the shared ones with the slot's output.
layers::BlockActivations& Stage::working(Slot& slot, std::size_t block) {
  layers::BlockActivations& kept = slot.blocks[block];
  if (kept.middle.shape.num_dims() > 0) return kept;
  made_again_.output = kept.output;
  return made_again_;
}

void Stage::run_forward(Chunk& chunk, Slot& slot, const layers::Sequences& sequences, optim::Weights* weights,
                        bool cached) {
  const std::int64_t own_rows = axis_.own_rows(sequences.rows()).count;
  const Tensor branch = branch_.rows(0, own_rows);
  if (chunk.range.embedding) {
    const Reading tokens(weights, BucketNumbers::token);
    const Reading positions(weights, BucketNumbers::positions);
    embedding_->forward(context(), sequences, slot.input.rows(0, own_rows));
  }
  for (std::size_t index = 0; index < chunk.blocks.size(); ++index) {
    const layers::Block& block = chunk.blocks[index];
    const Reading reading(weights, block.bucket());
    if (index + 1 < chunk.blocks.size()) prefetch(weights, chunk.blocks[index + 1]);
    block.forward(context(), sequences, rotary_table_, block_input(chunk, slot, index, own_rows), working(slot, index),
                  branch, cached ? &chunk.caches[index] : nullptr);
  }
}

void Stage::forward(int chunk, int slot, const data::Batch& batch, const TrainingStep& step) {
  Chunk& here = chunks_[static_cast<std::size_t>(chunk)];
  Slot& held = here.slots[static_cast<std::size_t>(slot)];
  run_forward(here, held, sequences_of(batch, step.key, true), &step.weights, false);
  if (step.fingerprints != nullptr) add_outputs(here, held, batch, *step.fingerprints);
}

void Stage::add_outputs(const Chunk& chunk, const Slot& slot, const data::Batch& batch,
                        PassFingerprints& fingerprints) const {
  const std::int64_t own_rows = axis_.own_rows(batch.sequences * batch.context).count;
  if (chunk.range.embedding) fingerprints.add_output(-1, batch, block_input(chunk, slot, 0, own_rows));
  for (std::int64_t index = 0; index < chunk.range.num_blocks; ++index) {
    fingerprints.add_output(chunk.range.first_block + index, batch,
                            block_input(chunk, slot, static_cast<std::size_t>(index) + 1, own_rows));
  }
}

void Stage::run_head(const data::Batch& batch, const layers::Sequences& sequences, const Tensor& x,
                     const Tensor& gradient, const TrainingStep& step) {
  const std::int64_t rows = sequences.rows();
  const int norm_bucket = BucketNumbers::final_norm(options_.layers);
  const int weight_bucket = BucketNumbers::head(options_.layers);
  const Reading norm(&step.weights, norm_bucket);
  const Reading table(&step.weights, table_bucket());
  step.loss.coefficients(batch.weights, {coefficients_.as<float>(), static_cast<std::size_t>(rows)});
  const kernels::Write norm_write = step.gradients.write(norm_bucket);
  const kernels::Write weight_write = step.gradients.write(weight_bucket);
  head_->forward_backward(context(), rows, x, view_of(batch.targets, {rows}), coefficients_.rows(0, rows),
                          head_activations_, log_probability_.rows(0, rows), gradient, norm_write, weight_write);
  // All ranks of the tensor axis have the same log-probabilities; they count once.
  if (axis_.rank() == 0) step.loss.add(batch.weights, floats(log_probability_, rows));
  step.gradients.bucket_done(norm_bucket);
  step.gradients.bucket_done(weight_bucket);
}

void Stage::write_weights(const layers::Block& block, std::int64_t rows, const layers::BlockActivations& activations,
                          const layers::BlockGradients& gradients, optim::GradientSync& sync) const {
  const kernels::Write write = sync.write(block.bucket());
  block.backward_weight(context(), rows, activations, gradients, write);
  sync.bucket_done(block.bucket());
  sync.poll();
}

void Stage::run_backward(Chunk& chunk, Slot& slot, int gradient_slot, Passes passes, const data::Batch& batch,
                         const TrainingStep& step) {
  const layers::Sequences sequences = sequences_of(batch, step.key, true);
  const std::int64_t rows = sequences.rows();
  const std::int64_t own_rows = axis_.own_rows(rows).count;
  const Tensor gradient = slot.gradient.rows(0, own_rows);
  if (chunk.range.head) {
    run_head(batch, sequences, block_input(chunk, slot, chunk.blocks.size(), own_rows), gradient, step);
    if (step.fingerprints != nullptr) step.fingerprints->add_gradient(options_.layers, batch, gradient);
  }
  for (std::size_t index = chunk.blocks.size(); index-- > 0;) {
    const layers::Block& block = chunk.blocks[index];
    const std::int64_t layer = chunk.range.first_block + static_cast<std::int64_t>(index);
    const Recompute recompute = recompute_of(layer);
    const bool again = recompute == Recompute::full;
    const bool fused = passes == Passes::fused || again;
    layers::BlockActivations& activations = working(slot, index);
    layers::BlockGradients gradients =
        fused ? block_gradients_ : chunk.gradients[static_cast<std::size_t>(gradient_slot)][index];
    if (recompute != Recompute::selective) gradients.attention.again = {};
    {
      const Reading reading(&step.weights, block.bucket());
      if (index > 0) prefetch(&step.weights, chunk.blocks[index - 1]);
      if (again) {
        block.forward(context(), sequences, rotary_table_, block_input(chunk, slot, index, own_rows), activations,
                      branch_.rows(0, own_rows), nullptr);
      }
      block.backward_input(context(), sequences, rotary_table_, activations, gradients, gradient);
    }
    if (step.fingerprints != nullptr) step.fingerprints->add_gradient(layer, batch, gradient);
    step.gradients.poll();
    if (fused) write_weights(block, rows, activations, gradients, step.gradients);
  }
  if (chunk.range.embedding) {
    const kernels::Write token_write = step.gradients.write(BucketNumbers::token);
    const kernels::Write position_write = step.gradients.write(BucketNumbers::positions);
    embedding_->backward(context(), sequences, gradient, token_write, position_write);
    step.gradients.bucket_done(BucketNumbers::token);
    step.gradients.bucket_done(BucketNumbers::positions);
  }
}

void Stage::backward(int chunk, int slot, const data::Batch& batch, const TrainingStep& step) {
  Chunk& here = chunks_[static_cast<std::size_t>(chunk)];
  run_backward(here, here.slots[static_cast<std::size_t>(slot)], 0, Passes::fused, batch, step);
}

void Stage::backward_input(int chunk, int slot, int gradient_slot, const data::Batch& batch, const TrainingStep& step) {
  Chunk& here = chunks_[static_cast<std::size_t>(chunk)];
  run_backward(here, here.slots[static_cast<std::size_t>(slot)], gradient_slot, Passes::input, batch, step);
}

void Stage::backward_weight(int chunk, int slot, int gradient_slot, const data::Batch& batch,
                            const TrainingStep& step) {
  Chunk& here = chunks_[static_cast<std::size_t>(chunk)];
  const Slot& held = here.slots[static_cast<std::size_t>(slot)];
  for (std::size_t index = here.blocks.size(); index-- > 0;) {
    const Recompute recompute = recompute_of(here.range.first_block + static_cast<std::int64_t>(index));
    if (recompute == Recompute::full) continue;
    layers::BlockGradients gradients = here.gradients[static_cast<std::size_t>(gradient_slot)][index];
    if (recompute != Recompute::selective) gradients.attention.again = {};
    write_weights(here.blocks[index], batch.sequences * batch.context, held.blocks[index], gradients, step.gradients);
  }
}

void Stage::evaluate(int chunk, const data::Batch& batch, CrossEntropyLoss& loss, optim::Weights* weights) {
  Chunk& here = chunks_[static_cast<std::size_t>(chunk)];
  const layers::Sequences sequences = sequences_of(batch, {}, false);
  const std::int64_t rows = sequences.rows();
  run_forward(here, here.slots.front(), sequences, weights, false);
  if (!here.range.head) return;
  const Reading norm(weights, BucketNumbers::final_norm(options_.layers));
  const Reading table(weights, table_bucket());
  head_->evaluate(context(), rows, output(chunk, 0, rows), view_of(batch.targets, {rows}), head_activations_,
                  log_probability_.rows(0, rows));
  if (axis_.rank() == 0) loss.add(batch.weights, floats(log_probability_, rows));
}

std::span<const float> Stage::continue_sequence(int chunk, std::span<const std::int32_t> tokens) {
  Chunk& here = chunks_[static_cast<std::size_t>(chunk)];
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::int64_t held = here.caches.empty() ? sequence_length_ : here.caches.front().length;
  TRIREME_EXPECT(count > 0 && held + count <= options_.context);
  data::Batch batch;
  batch.sequences = 1;
  batch.context = count;
  batch.input.assign(tokens.begin(), tokens.end());
  for (std::int64_t n = 0; n < count; ++n) batch.positions.push_back(static_cast<std::int32_t>(held + n));
  run_forward(here, here.slots.front(), sequences_of(batch, {}, false), nullptr, true);
  if (chunk + 1 == num_chunks()) sequence_length_ += count;
  if (!here.range.head) return {};
  head_->logits(context(), count, output(chunk, 0, count), head_activations_, logits_);
  return logits_;
}

void Stage::clear_sequence() {
  sequence_length_ = 0;
  for (Chunk& chunk : chunks_) {
    for (layers::KeyValueCache& cache : chunk.caches) cache.length = 0;
  }
}

}  // namespace trireme::model
