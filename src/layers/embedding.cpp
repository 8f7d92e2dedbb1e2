#include "trireme/layers/embedding.hpp"

#include <cstring>

#include "trireme/kernels/embedding.hpp"

namespace trireme::layers {

namespace {

constexpr std::uint32_t dropout_site = 0;

void zero(const device::Device& device, const tensor::Tensor& values) {
  constexpr std::int64_t block = 1 << 16;
  const std::int64_t count = values.size();
  auto* data = values.as<float>();
  device.parallel((count + block - 1) / block, [&](std::int64_t index, int) {
    const std::int64_t begin = index * block;
    const std::int64_t end = begin + block < count ? begin + block : count;
    std::memset(data + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(float));
  });
}

void add_rows(const Context& context, const tensor::Tensor& ids, const tensor::Tensor& dy,
              const tensor::Tensor& gradient, kernels::Write write) {
  if (write == kernels::Write::set) zero(context.device, gradient);
  kernels::embedding_backward(context.device, ids, dy, gradient);
}

}  // namespace

Embedding::Embedding(tensor::ParameterStore& parameters, const EmbeddingOptions& options) : options_(options) {
  const tensor::Shape token_shape{options.vocab, options.width};
  token_ = &parameters.add({.name = "embedding.token.weight",
                            .global_shape = token_shape,
                            .shard = tensor::whole(token_shape),
                            .initial = tensor::Initial::normal,
                            .deviation = options.initial_deviation,
                            .decays = true,
                            .bucket = options.token_bucket});
  if (options.learned_positions) {
    const tensor::Shape position_shape{options.context, options.width};
    position_ = &parameters.add({.name = "embedding.position.weight",
                                 .global_shape = position_shape,
                                 .shard = tensor::whole(position_shape),
                                 .initial = tensor::Initial::normal,
                                 .deviation = options.initial_deviation,
                                 .decays = true,
                                 .bucket = options.position_bucket});
  }
}

void Embedding::forward(const Context& context, const Sequences& sequences, const tensor::Tensor& y) const {
  kernels::embedding_forward(context.device, sequences.ids, sequences.positions, token_->weight,
                             position_ != nullptr ? position_->weight : tensor::Tensor{}, y);
  const kernels::Dropout dropout = sequences.dropout(options_.dropout, dropout_site);
  if (dropout.probability > 0) kernels::dropout_apply(context.device, dropout, sequences.batch, y, y);
}

void Embedding::backward(const Context& context, const Sequences& sequences, const tensor::Tensor& dy,
                         kernels::Write token_write, kernels::Write position_write) const {
  const kernels::Dropout dropout = sequences.dropout(options_.dropout, dropout_site);
  if (dropout.probability > 0) kernels::dropout_apply(context.device, dropout, sequences.batch, dy, dy);
  add_rows(context, sequences.ids, dy, token_->gradient, token_write);
  if (position_ != nullptr) add_rows(context, sequences.positions, dy, position_->gradient, position_write);
}

}  // namespace trireme::layers
