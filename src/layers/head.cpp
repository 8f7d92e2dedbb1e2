#include "trireme/layers/head.hpp"

#include <algorithm>
#include <cstring>

#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/layers/embedding.hpp"

#include "layers/views.hpp"

namespace trireme::layers {

namespace {

using kernels::Write;
using tensor::Tensor;

// A chunk's gradient is summed over slices in one block.
static_assert(Head::chunk_rows <= TensorAxis::block_rows);

constexpr std::int64_t statistics_per_row = 3;

/// Rows of logits start on 64 bytes.
std::int64_t padded(std::int64_t vocab) {
  return (vocab + 15) / 16 * 16;
}

std::int64_t vocab_of(const tensor::Parameter& table) {
  return table.shard.extent[0];
}

std::int64_t first_id_of(const tensor::Parameter& table) {
  return table.shard.offset[0];
}

/// Calls work(first row, rows) for each chunk of `rows`.
template <class Work>
void for_each_chunk(std::int64_t rows, Work&& work) {
  for (std::int64_t begin = 0; begin < rows; begin += Head::chunk_rows) {
    work(begin, std::min(Head::chunk_rows, rows - begin));
  }
}

std::vector<tensor::Parameter*> add_all(tensor::ParameterStore& parameters,
                                        const std::vector<tensor::Parameter>& entries) {
  std::vector<tensor::Parameter*> added;
  for (const tensor::Parameter& entry : entries) added.push_back(&parameters.add(entry));
  return added;
}

}  // namespace

/// A few rows of logits of this rank's slices.
struct Head::Chunk {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t row_length = 0;
  const Activations& activations;

  [[nodiscard]] Tensor logits(std::int64_t k) const { return slice_view(activations.logits, k, {count, row_length}); }
  /// Their gradient, of the table's type: in half precision row by row over the same memory.
  [[nodiscard]] Tensor gradient(std::int64_t k, Dtype dtype) const {
    Tensor values = logits(k);
    if (dtype == Dtype::f32) return values;
    values.dtype = dtype;
    values.shape = {count, row_length * static_cast<std::int64_t>(sizeof(float) / size_of(dtype))};
    return values;
  }
  /// Of slice k of all slices.
  [[nodiscard]] Tensor statistics(std::int64_t k) const {
    return slice_view(activations.statistics_of_slices, k, {count, statistics_per_row});
  }
  [[nodiscard]] Tensor normalizer() const { return slice_view(activations.normalizer, 0, {count, 2}); }
};

Head::Head(tensor::ParameterStore& parameters, const HeadOptions& options, const TensorAxis& axis)
    : options_(options), norm_(parameters, options.norm, axis), row_sums_(norm_.parameters()) {
  tensor::Parameter weight{.name = head_table_name,
                           .global_shape = {options.vocab, options.width},
                           .initial = tensor::Initial::normal,
                           .deviation = options.initial_deviation,
                           .decays = true,
                           .bucket = options.weight_bucket};
  TRIREME_EXPECT(options.tied || !options.far_table);
  if (options.far_table) {
    tensor::Parameter far = weight;
    far.name = token_table_name;
    far.bucket = options.far_table_bucket;
    far.follows = true;
    add_all(parameters, table_slices(far, axis));
  }
  if (options.tied) weight.tied_to = token_table_name;
  gradient_ = add_all(parameters, table_slices(weight, axis));
  table_ = options.tied ? parameters.entries(token_table_name) : gradient_;
  TRIREME_EXPECT(table_.size() == gradient_.size());
}

Head::Activations Head::allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t rows) const {
  const std::int64_t own_rows = axis.max_own_rows(rows);
  const std::int64_t chunk = std::min(rows, chunk_rows);
  const std::int64_t slices = axis.slices().count;
  return {.statistics = norm_.allocate(arena, own_rows),
          .normed = allocate_activation(arena, {own_rows, options_.width}, axis.compute()),
          .gradient = allocate_activation(arena, {own_rows, options_.width}, axis.compute()),
          .logits = allocate_activation(arena, {slices, chunk, row_length(axis)}, Dtype::f32),
          .row_sums = row_sums_.allocate(arena, axis, options_.width),
          .statistics_of_slices =
              allocate_activation(arena, {axis.num_slices() + slices, chunk, statistics_per_row}, Dtype::f32),
          .normalizer = allocate_activation(arena, {chunk, 2}, Dtype::f32)};
}

std::int64_t Head::row_length(const TensorAxis& axis) const {
  return padded(vocabulary_slice(options_.vocab, axis.num_slices(), 0).count);
}

void Head::log_probability_of_chunk(const Context& context, const Chunk& chunk, const Tensor& normed,
                                    const Tensor& targets, const Tensor& coefficients,
                                    const Tensor& log_probability) const {
  const std::int64_t num_slices = context.axis.num_slices();
  const auto slices = static_cast<std::int64_t>(table_.size());
  for (std::int64_t k = 0; k < slices; ++k) {
    const tensor::Parameter& table = *table_[static_cast<std::size_t>(k)];
    if (vocab_of(table) > 0) context.gemm.forward(normed, table.weight, {}, chunk.logits(k));
    kernels::cross_entropy_statistics(context.device, chunk.logits(k), vocab_of(table), first_id_of(table), targets,
                                      chunk.statistics(num_slices + k));
  }
  context.axis.gather_slices(chunk.statistics(num_slices).as<float>(), chunk.count * statistics_per_row,
                             chunk.statistics(0).as<float>(), Traffic::head);
  kernels::cross_entropy_combine(
      context.device,
      slice_view(chunk.activations.statistics_of_slices, 0, {num_slices, chunk.count, statistics_per_row}),
      coefficients, log_probability, chunk.normalizer());
}

void Head::evaluate(const Context& context, std::int64_t rows, const Tensor& x, const Tensor& targets,
                    const Activations& activations, const Tensor& log_probability) const {
  const Tensor own_normed = activations.normed.rows(0, x.shape[0]);
  norm_.forward(context, x, own_normed, activations.statistics);
  const Tensor normed = context.axis.gather_rows(own_normed, rows, Traffic::head);
  for_each_chunk(rows, [&](std::int64_t begin, std::int64_t count) {
    const Chunk chunk{begin, count, row_length(context.axis), activations};
    log_probability_of_chunk(context, chunk, normed.rows(begin, count), targets.rows(begin, count), {},
                             log_probability.rows(begin, count));
  });
}

void Head::forward_backward(const Context& context, std::int64_t rows, const Tensor& x, const Tensor& targets,
                            const Tensor& coefficients, const Activations& activations, const Tensor& log_probability,
                            const Tensor& dx, Write norm_write, Write weight_write) const {
  const Tensor own_normed = activations.normed.rows(0, x.shape[0]);
  const Tensor own_gradient = activations.gradient.rows(0, x.shape[0]);
  norm_.forward(context, x, own_normed, activations.statistics);
  const Tensor normed = context.axis.gather_rows(own_normed, rows, Traffic::head);
  const Tensor gradient = context.axis.partial_rows(rows, own_gradient);
  for_each_chunk(rows, [&](std::int64_t begin, std::int64_t count) {
    const Chunk chunk{begin, count, row_length(context.axis), activations};
    const auto part = [&](const Tensor& of_rows) { return of_rows.rows(begin, count); };
    log_probability_of_chunk(context, chunk, part(normed), part(targets), part(coefficients), part(log_probability));
    chunk_backward(context, chunk, part(normed), part(targets), part(coefficients), part(gradient),
                   begin == 0 ? weight_write : Write::add);
  });
  context.axis.reduce_rows(gradient, own_gradient, Traffic::head);
  norm_.backward(context, rows, own_gradient, x, activations.statistics, dx, Write::set, row_sums_, 0,
                 activations.row_sums);
  row_sums_.finish(context, activations.row_sums, norm_write);
}

void Head::chunk_backward(const Context& context, const Chunk& chunk, const Tensor& normed, const Tensor& targets,
                          const Tensor& coefficients, const Tensor& gradient, Write write) const {
  const auto make = [&](std::int64_t k, std::int64_t /*begin*/, const Tensor& target) {
    const tensor::Parameter& table = *table_[static_cast<std::size_t>(k)];
    if (vocab_of(table) == 0) {  // a slice without rows: there is nothing to multiply
      std::memset(target.data, 0, target.bytes());
      return;
    }
    const Tensor dlogits = chunk.gradient(k, table.weight.dtype);
    kernels::cross_entropy_gradient(context.device, chunk.logits(k), vocab_of(table), first_id_of(table), targets,
                                    coefficients, chunk.statistics(context.axis.num_slices() + k), chunk.normalizer(),
                                    dlogits);
    context.gemm.backward_input(dlogits, table.weight, target, Write::set);
    context.gemm.backward_weight(dlogits, normed, gradient_[static_cast<std::size_t>(k)]->gradient, write);
  };
  context.axis.sum_block(0, make, gradient);
}

void Head::logits(const Context& context, std::int64_t rows, const Tensor& x, const Activations& activations,
                  std::vector<float>& logits) const {
  const Tensor own_normed = activations.normed.rows(0, x.shape[0]);
  norm_.forward(context, x, own_normed, activations.statistics);
  const Tensor last = context.axis.gather_rows(own_normed, rows, Traffic::head).rows(rows - 1, 1);
  // Slices of equal length, so that all of them can be gathered: only the last ones have padding.
  const std::int64_t length = vocabulary_slice(options_.vocab, context.axis.num_slices(), 0).count;
  std::vector<float> mine;
  for (std::size_t k = 0; k < table_.size(); ++k) {
    const Tensor row = slice_view(activations.logits, 0, {1, row_length(context.axis)});
    if (vocab_of(*table_[k]) > 0) context.gemm.forward(last, table_[k]->weight, {}, row);
    mine.insert(mine.end(), row.as<float>(), row.as<float>() + length);
  }
  logits.resize(static_cast<std::size_t>(length * context.axis.num_slices()));
  context.axis.gather_slices(mine.data(), length, logits.data(), Traffic::head);
  logits.resize(static_cast<std::size_t>(options_.vocab));
}

std::int64_t Head::scratch_bytes(std::int64_t rows) const {
  return norm_.scratch_bytes(rows);
}

}  // namespace trireme::layers
