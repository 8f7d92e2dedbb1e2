#include "trireme/model/stage.hpp"

#include <cmath>

#include <fmt/core.h>

#include "trireme/kernels/random.hpp"

namespace trireme::model {

namespace {

using tensor::Tensor;

layers::NormOptions norm_options(const ModelOptions& o, const std::string& name, int bucket) {
  return {.name = name,
          .kind = o.norm == Norm::layernorm ? layers::NormKind::layer : layers::NormKind::rms,
          .width = o.width,
          .epsilon = o.norm_epsilon,
          .bucket = bucket};
}

layers::MlpKind mlp_kind(Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return layers::MlpKind::gelu_tanh;
    case Activation::gelu:
      return layers::MlpKind::gelu;
    case Activation::swiglu:
      return layers::MlpKind::swiglu;
  }
  return layers::MlpKind::gelu_tanh;
}

/// Dropout sites: 0 is the embedding's, then three a block.
std::uint32_t site_of(std::int64_t block, std::uint32_t which) {
  return 1 + 3 * static_cast<std::uint32_t>(block) + which;
}

layers::BlockOptions block_options(const ModelOptions& o, std::int64_t index) {
  const std::string name = fmt::format("blocks.{}", index);
  const int bucket = BucketNumbers::block(index);
  // What is added to the residual stream is drawn smaller, so that its variance does not grow with the depth
  // (Radford et al. 2019, section 2.3).
  const double output_deviation = o.initial_deviation / std::sqrt(2.0 * static_cast<double>(o.layers));
  return {.attention = {.name = name + ".attention",
                        .width = o.width,
                        .heads = o.heads,
                        .kv_heads = o.kv_heads,
                        .head_width = o.head_width,
                        .qkv_bias = o.bias != Bias::none,
                        .output_bias = o.bias == Bias::all,
                        .initial_deviation = o.initial_deviation,
                        .output_deviation = output_deviation,
                        .dropout = o.dropout,
                        .dropout_site = site_of(index, 0),
                        .bucket = bucket},
          .mlp = {.name = name + ".mlp",
                  .kind = mlp_kind(o.activation),
                  .width = o.width,
                  .mlp_width = o.mlp_width,
                  .bias = o.bias == Bias::all,
                  .initial_deviation = o.initial_deviation,
                  .output_deviation = output_deviation,
                  .bucket = bucket},
          .norm_1 = norm_options(o, name + ".norm_1", bucket),
          .norm_2 = norm_options(o, name + ".norm_2", bucket),
          .dropout = o.dropout,
          .attention_dropout_site = site_of(index, 1),
          .mlp_dropout_site = site_of(index, 2),
          .bucket = bucket};
}

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

}  // namespace

Stage::Stage(const device::Device& device, kernels::Gemm& gemm, const ModelOptions& options)
    : device_(device), gemm_(gemm), options_(resolved(options)) {
  embedding_.emplace(parameters_, layers::EmbeddingOptions{.vocab = options_.vocab,
                                                           .context = options_.context,
                                                           .width = options_.width,
                                                           .learned_positions = options_.position == Position::learned,
                                                           .initial_deviation = options_.initial_deviation,
                                                           .dropout = options_.dropout,
                                                           .token_bucket = BucketNumbers::token,
                                                           .position_bucket = BucketNumbers::ends});
  for (std::int64_t index = 0; index < options_.layers; ++index) {
    blocks_.emplace_back(parameters_, block_options(options_, index));
  }
  head_.emplace(parameters_, layers::HeadOptions{.norm = norm_options(options_, "final_norm", BucketNumbers::ends),
                                                 .vocab = options_.vocab,
                                                 .width = options_.width,
                                                 .tied = options_.tied_embeddings,
                                                 .initial_deviation = options_.initial_deviation,
                                                 .weight_bucket = BucketNumbers::head(options_.layers)});
}

void Stage::draw_weights(std::uint64_t seed) {
  for (const tensor::Parameter& parameter : parameters_.all()) {
    if (parameter.tied_to.empty()) kernels::draw_initial(device_, seed, parameter);
  }
}

layers::BlockActivations& Stage::activations(std::size_t block) {
  return activations_[activations_.size() == 1 ? 0 : block];
}

Tensor Stage::last_output(std::int64_t rows) {
  const Tensor& output = blocks_.empty() ? embedded_ : activations(blocks_.size() - 1).output;
  return output.rows(0, rows);
}

void Stage::forward_rows(const layers::Sequences& sequences, bool cached) {
  const std::int64_t rows = sequences.rows();
  const Tensor branch = branch_.rows(0, rows);
  Tensor x = embedded_.rows(0, rows);
  embedding_->forward(context(), sequences, x);
  for (std::size_t index = 0; index < blocks_.size(); ++index) {
    layers::KeyValueCache* cache = cached ? &caches_[index] : nullptr;
    blocks_[index].forward(context(), sequences, rotary_table_, x, activations(index), branch, cache);
    x = activations(index).output.rows(0, rows);
  }
}

void Stage::forward(const data::Batch& batch, const StepKey& key) {
  forward_rows(sequences_of(batch, key, true), false);
}

void Stage::backward(const data::Batch& batch, const StepKey& key, CrossEntropyLoss& loss,
                     optim::GradientSync& gradients) {
  const layers::Sequences sequences = sequences_of(batch, key, true);
  const std::int64_t rows = sequences.rows();
  const int head_bucket = BucketNumbers::head(options_.layers);

  loss.coefficients(batch.weights, {coefficients_.as<float>(), static_cast<std::size_t>(rows)});
  head_->forward_backward(context(), last_output(rows), view_of(batch.targets, {rows}), coefficients_.rows(0, rows),
                          head_activations_, log_probability_.rows(0, rows), gradient_.rows(0, rows),
                          gradients.write(BucketNumbers::ends), gradients.write(head_bucket));
  loss.add(batch.weights, floats(log_probability_, rows));
  gradients.bucket_done(head_bucket);

  for (std::size_t index = blocks_.size(); index-- > 0;) {
    const layers::Block& block = blocks_[index];
    const kernels::Write write = gradients.write(block.bucket());
    block.backward_input(context(), sequences, rotary_table_, activations(index), block_gradients_,
                         gradient_.rows(0, rows), write);
    gradients.poll();
    block.backward_weight(context(), activations(index), block_gradients_, write);
    gradients.bucket_done(block.bucket());
    gradients.poll();
  }
  embedding_->backward(context(), sequences, gradient_.rows(0, rows), gradients.write(BucketNumbers::token),
                       gradients.write(BucketNumbers::ends));
  gradients.bucket_done(BucketNumbers::token);
  gradients.bucket_done(BucketNumbers::ends);
}

void Stage::evaluate(const data::Batch& batch, CrossEntropyLoss& loss) {
  const layers::Sequences sequences = sequences_of(batch, {}, false);
  const std::int64_t rows = sequences.rows();
  forward_rows(sequences, false);
  head_->evaluate(context(), last_output(rows), view_of(batch.targets, {rows}), head_activations_,
                  log_probability_.rows(0, rows));
  loss.add(batch.weights, floats(log_probability_, rows));
}

std::span<const float> Stage::continue_sequence(std::span<const std::int32_t> tokens) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  TRIREME_EXPECT(count > 0 && sequence_length_ + count <= options_.context);
  data::Batch batch;
  batch.sequences = 1;
  batch.context = count;
  batch.input.assign(tokens.begin(), tokens.end());
  for (std::int64_t n = 0; n < count; ++n) {
    batch.positions.push_back(static_cast<std::int32_t>(sequence_length_ + n));
  }
  forward_rows(sequences_of(batch, {}, false), true);
  sequence_length_ += count;
  head_->logits(context(), last_output(count).rows(count - 1, 1), head_activations_);
  return floats(head_activations_.logits, options_.vocab);
}

void Stage::clear_sequence() {
  sequence_length_ = 0;
  for (layers::KeyValueCache& cache : caches_) cache.length = 0;
}

}  // namespace trireme::model
