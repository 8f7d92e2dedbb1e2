#include "trireme/layers/embedding.hpp"

#include <algorithm>
#include <cstring>

#include "trireme/kernels/embedding.hpp"

namespace trireme::layers {

namespace {

using kernels::Write;
using tensor::Tensor;

constexpr std::uint32_t dropout_site = 0;

void zero(const device::Device& device, const Tensor& values) {
  constexpr std::int64_t block = 1 << 16;
  const std::int64_t count = values.size();
  auto* data = values.as<float>();
  device.parallel((count + block - 1) / block, [&](std::int64_t index, int) {
    const std::int64_t begin = index * block;
    const std::int64_t end = std::min(count, begin + block);
    std::memset(data + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(float));
  });
}

/// Of an entry of a table whose first row is number first_id.
void add_rows(const Context& context, const Tensor& ids, std::int64_t first_id, const Tensor& dy,
              const Tensor& gradient, Write write) {
  if (write == Write::set) zero(context.device, gradient);
  kernels::embedding_backward(context.device, ids, first_id, dy, gradient);
}

void apply_dropout(const Context& context, const Sequences& sequences, double probability, const Tensor& rows) {
  const std::int64_t first_row = context.axis.own_rows(sequences.rows()).begin;
  const kernels::Dropout dropout = sequences.dropout(probability, dropout_site, first_row);
  if (dropout.probability > 0) kernels::dropout_apply(context.device, dropout, rows, rows);
}

}  // namespace

Range vocabulary_slice(std::int64_t vocab, std::int64_t num_slices, std::int64_t slice) {
  const std::int64_t rows = (vocab + num_slices - 1) / num_slices;
  const std::int64_t begin = std::min(slice * rows, vocab);
  return {begin, std::min(rows, vocab - begin)};
}

std::vector<tensor::Parameter> table_slices(const tensor::Parameter& table, const TensorAxis& axis) {
  std::vector<tensor::Parameter> entries;
  for (std::int64_t slice = axis.slices().begin; slice < axis.slices().end(); ++slice) {
    const Range rows = vocabulary_slice(table.global_shape[0], axis.num_slices(), slice);
    tensor::Parameter& entry = entries.emplace_back(table);
    entry.shard = {.offset = {rows.begin, 0}, .extent = {rows.count, table.global_shape[1]}};
  }
  return entries;
}

Embedding::Embedding(tensor::ParameterStore& parameters, const EmbeddingOptions& options, const TensorAxis& axis)
    : options_(options) {
  const tensor::Parameter token{.name = token_table_name,
                                .global_shape = {options.vocab, options.width},
                                .initial = tensor::Initial::normal,
                                .deviation = options.initial_deviation,
                                .decays = true,
                                .bucket = options.token_bucket};
  for (const tensor::Parameter& entry : table_slices(token, axis)) token_.push_back(&parameters.add(entry));
  if (!options.learned_positions) return;
  const tensor::Shape position_shape{options.context, options.width};
  position_ = &parameters.add({.name = "embedding.position.weight",
                               .global_shape = position_shape,
                               .shard = tensor::whole(position_shape),
                               .initial = tensor::Initial::normal,
                               .deviation = options.initial_deviation,
                               .decays = true,
                               .bucket = options.position_bucket,
                               .counted = axis.rank() == 0,
                               .replicas = tensor::Replicas::tensor_axis});
}

void Embedding::forward(const Context& context, const Sequences& sequences, const Tensor& y) const {
  const std::int64_t rows = sequences.rows();
  const Tensor partial = context.axis.partial_rows(rows, y);
  Write write = Write::set;
  for (const tensor::Parameter* slice : token_) {
    kernels::embedding_forward(context.device, sequences.ids, slice->shard.offset[0], slice->weight, partial, write);
    write = Write::add;
  }
  context.axis.reduce_rows(partial, y, Traffic::embedding);
  if (position_ != nullptr) {
    const Range own = context.axis.own_rows(rows);
    kernels::embedding_forward(context.device, sequences.positions.rows(own.begin, own.count), 0, position_->weight, y,
                               Write::add);
  }
  apply_dropout(context, sequences, options_.dropout, y);
}

void Embedding::backward(const Context& context, const Sequences& sequences, const Tensor& dy, Write token_write,
                         Write position_write) const {
  apply_dropout(context, sequences, options_.dropout, dy);
  const Tensor all = context.axis.gather_rows(dy, sequences.rows(), Traffic::embedding);
  for (const tensor::Parameter* slice : token_) {
    add_rows(context, sequences.ids, slice->shard.offset[0], all, slice->gradient, token_write);
  }
  if (position_ != nullptr) {
    add_rows(context, sequences.positions, 0, all, position_->gradient, position_write);
  }
}

}  // namespace trireme::layers
