#include "trireme/layers/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "trireme/kernels/cast.hpp"
#include "trireme/kernels/reduce.hpp"
#include "trireme/kernels/rotary.hpp"

#include "layers/views.hpp"

namespace trireme::layers {

namespace {

using tensor::Tensor;

LinearOptions projection(const AttentionOptions& options, const char* part, std::int64_t in, std::int64_t out,
                         bool bias, double deviation) {
  return {.name = options.name + "." + part,
          .in = in,
          .out = out,
          .bias = bias,
          .initial_deviation = deviation,
          .bucket = options.bucket};
}

ColumnLinear make_query(tensor::ParameterStore& parameters, const AttentionOptions& options, const TensorAxis& axis) {
  return {parameters,
          projection(options, "query", options.width, options.heads * options.head_width, options.qkv_bias,
                     options.initial_deviation),
          axis.num_slices(), axis.slices()};
}

ColumnLinear make_key_or_value(tensor::ParameterStore& parameters, const AttentionOptions& options, const char* part,
                               const TensorAxis& axis) {
  return {parameters,
          projection(options, part, options.width, options.kv_heads * options.head_width, options.qkv_bias,
                     options.initial_deviation),
          axis.num_kv_slices(),
          axis.kv_slices(),
          axis.counts_kv(),
          tensor::Replicas::kv_slices};
}

/// Query slices that read the same key/value slice.
std::int64_t group_size(const TensorAxis& axis) {
  return axis.num_slices() / axis.num_kv_slices();
}

/// The key/value slice, counted from this rank's first, that slice k of this rank reads.
std::int64_t kv_slice_of(const TensorAxis& axis, std::int64_t k) {
  return (axis.slices().begin + k) / group_size(axis) - axis.kv_slices().begin;
}

/// The slices of this rank that read its key/value slice j.
Range group_of(const TensorAxis& axis, std::int64_t j) {
  const std::int64_t group = std::min(group_size(axis), axis.slices().count);
  return {j * group, group};
}

/// Where the gradients of keys and values are made, slice after slice: in place, unless they are sums in half
/// precision.
std::array<Tensor, 2> kv_partials(const TensorAxis& axis, std::int64_t rows, const AttentionGradients& gradients) {
  if (!axis.has_kv_partials()) return {gradients.key, gradients.value};
  return {axis.kv_partials(0, rows), axis.kv_partials(1, rows)};
}

void append(const Tensor& rows, const Tensor& cache, std::int64_t position) {
  const Tensor target = cache.rows(position, rows.shape[0]);
  std::memcpy(target.data, rows.data, rows.bytes());
}

/// Appends the rows of every key/value slice.
void append(const AttentionActivations& activations, std::int64_t rows, std::int64_t kv_slices, KeyValueCache& cache) {
  for (std::int64_t j = 0; j < kv_slices; ++j) {
    append(activations.key.rows(j * rows, rows), cache.key, j * cache.context + cache.length);
    append(activations.value.rows(j * rows, rows), cache.value, j * cache.context + cache.length);
  }
  cache.length += rows;
}

}  // namespace

Attention::Attention(tensor::ParameterStore& parameters, const AttentionOptions& options, const TensorAxis& axis)
    : options_(options),
      query_(make_query(parameters, options, axis)),
      key_(make_key_or_value(parameters, options, "key", axis)),
      value_(make_key_or_value(parameters, options, "value", axis)),
      output_(parameters,
              projection(options, "output", options.heads * options.head_width, options.width, options.output_bias,
                         options.output_deviation),
              axis) {}

kernels::AttentionShape Attention::shape(const TensorAxis& axis, std::int64_t k, const Sequences& sequences,
                                         std::int64_t keys) const {
  const std::int64_t heads = options_.heads / axis.num_slices();
  return {.batch = sequences.batch,
          .queries = sequences.tokens,
          .keys = keys,
          .heads = heads,
          .kv_heads = options_.kv_heads / axis.num_kv_slices(),
          .first_head = (axis.slices().begin + k) * heads,
          .head_size = options_.head_width,
          .causal = true,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(options_.head_width)))};
}

void Attention::forward(const Context& context, const Sequences& sequences, const Tensor& rotary_table, const Tensor& x,
                        const Tensor& y, const AttentionActivations& activations, KeyValueCache* cache) const {
  const std::int64_t rows = sequences.rows();
  project(context, sequences, rotary_table, context.axis.gather_rows(x, rows, Traffic::attention), activations);
  if (cache != nullptr) append(activations, rows, context.axis.kv_slices().count, *cache);
  compute_core(context, sequences, activations, cache, activations.core);
  output_.forward(context, rows, flat(activations.core.output), y, Traffic::attention);
}

void Attention::project(const Context& context, const Sequences& sequences, const Tensor& rotary_table, const Tensor& x,
                        const AttentionActivations& activations) const {
  const std::int64_t rows = sequences.rows();
  const auto project_slice = [&](const ColumnLinear& linear, std::int64_t k, const Tensor& heads, bool rotates) {
    const Tensor slice = heads.rows(k * rows, rows);
    linear.forward(context, k, x, flat(slice));
    if (!rotates || rotary_table.empty()) return;
    kernels::rotary_apply(context.device, rotary_table, sequences.positions, kernels::Rotation::forward, slice);
  };
  for (std::int64_t k = 0; k < context.axis.slices().count; ++k) project_slice(query_, k, activations.query, true);
  for (std::int64_t j = 0; j < context.axis.kv_slices().count; ++j) {
    project_slice(key_, j, activations.key, true);
    project_slice(value_, j, activations.value, false);
  }
}

void Attention::compute_core(const Context& context, const Sequences& sequences,
                             const AttentionActivations& activations, const KeyValueCache* cache,
                             const AttentionCore& core) const {
  const TensorAxis& axis = context.axis;
  const std::int64_t rows = sequences.rows();
  for (std::int64_t k = 0; k < axis.slices().count; ++k) {
    const kernels::AttentionShape of_slice =
        shape(axis, k, sequences, cache != nullptr ? cache->length : sequences.tokens);
    const auto kv_part = [&](const Tensor& own, const Tensor KeyValueCache::*cached) {
      const std::int64_t j = kv_slice_of(axis, k);
      return cache != nullptr ? (cache->*cached).rows(j * cache->context, cache->length) : own.rows(j * rows, rows);
    };
    kernels::attention_forward(
        context.device, of_slice, sequences.dropout(options_.dropout, options_.dropout_site),
        activations.query.rows(k * rows, rows), kv_part(activations.key, &KeyValueCache::key),
        kv_part(activations.value, &KeyValueCache::value), sequences.starts, core.output.rows(k * rows, rows),
        slice_view(core.log_sum_exp, k, {sequences.batch, of_slice.heads, sequences.tokens}), context.scratch);
  }
}

void Attention::backward_input(const Context& context, const Sequences& sequences, const Tensor& rotary_table,
                               const AttentionActivations& activations, const Tensor& dy,
                               const AttentionGradients& gradients, const Tensor& dx) const {
  const std::int64_t rows = sequences.rows();
  output_.backward_input(context, context.axis.gather_rows(dy, rows, Traffic::attention), flat(gradients.core));
  if (!gradients.again.output.empty()) compute_core(context, sequences, activations, nullptr, gradients.again);
  core_backward(context, sequences, activations, gradients);
  sum_kv_slices(context, rows, gradients);
  if (!rotary_table.empty()) {
    const auto rotate_back = [&](const Tensor& slice) {
      kernels::rotary_apply(context.device, rotary_table, sequences.positions, kernels::Rotation::backward, slice);
    };
    for (std::int64_t k = 0; k < context.axis.slices().count; ++k) rotate_back(gradients.query.rows(k * rows, rows));
    for (std::int64_t j = 0; j < context.axis.kv_slices().count; ++j) {
      rotate_back(gradients.key.rows(group_of(context.axis, j).begin * rows, rows));
    }
  }
  input_gradient(context, rows, gradients, dx);
}

void Attention::core_backward(const Context& context, const Sequences& sequences,
                              const AttentionActivations& activations, const AttentionGradients& gradients) const {
  const AttentionCore& core = gradients.again.output.empty() ? activations.core : gradients.again;
  const std::int64_t rows = sequences.rows();
  const auto [dkey, dvalue] = kv_partials(context.axis, rows, gradients);
  for (std::int64_t k = 0; k < context.axis.slices().count; ++k) {
    const kernels::AttentionShape of_slice = shape(context.axis, k, sequences, sequences.tokens);
    const auto part = [&](const Tensor& slices) { return slices.rows(k * rows, rows); };
    const auto kv_part = [&](const Tensor& slices) { return slices.rows(kv_slice_of(context.axis, k) * rows, rows); };
    kernels::attention_backward(
        context.device, of_slice, sequences.dropout(options_.dropout, options_.dropout_site), part(activations.query),
        kv_part(activations.key), kv_part(activations.value), sequences.starts, part(core.output),
        slice_view(core.log_sum_exp, k, {sequences.batch, of_slice.heads, sequences.tokens}), part(gradients.core),
        part(gradients.query), dkey.rows(k * rows, rows), dvalue.rows(k * rows, rows), context.scratch);
  }
}

void Attention::sum_kv_slices(const Context& context, std::int64_t rows, const AttentionGradients& gradients) const {
  if (group_size(context.axis) == 1) return;
  const std::array<Tensor, 2> partials = kv_partials(context.axis, rows, gradients);
  const std::array<Tensor, 2> sums{gradients.key, gradients.value};
  for (std::size_t which = 0; which < sums.size(); ++which) {
    for (std::int64_t j = 0; j < context.axis.kv_slices().count; ++j) {
      const Range group = group_of(context.axis, j);
      const Tensor sum = partials[which].rows(group.begin * rows, rows);
      kernels::tree_sum(context.device, sum.as<float>(), group.count, sum.size());
      context.axis.sum_kv_group(sum, Traffic::attention);
      if (!context.axis.has_kv_partials()) continue;
      kernels::cast(context.device, sum, sums[which].rows(group.begin * rows, rows));
    }
  }
}

void Attention::input_gradient(const Context& context, std::int64_t rows, const AttentionGradients& gradients,
                               const Tensor& dx) const {
  using kernels::Write;
  const TensorAxis& axis = context.axis;
  const auto make = [&](std::int64_t k, std::int64_t begin, const Tensor& target) {
    const auto part = [&](const Tensor& slices) { return flat(slices.rows(k * rows + begin, target.shape[0])); };
    query_.backward_input(context, k, part(gradients.query), target, Write::set);
    // Key and value stand in the place of the group's first slice of all, and are that slice's to add.
    if ((axis.slices().begin + k) % group_size(axis) != 0) return;
    key_.backward_input(context, kv_slice_of(axis, k), part(gradients.key), target, Write::add);
    value_.backward_input(context, kv_slice_of(axis, k), part(gradients.value), target, Write::add);
  };
  context.axis.sum_slices(rows, make, dx, Traffic::attention);
}

void Attention::backward_weight(const Context& context, std::int64_t rows, const AttentionActivations& activations,
                                const Tensor& x, const Tensor& dy, const AttentionGradients& gradients,
                                kernels::Write write) const {
  const AttentionCore& core = gradients.again.output.empty() ? activations.core : gradients.again;
  output_.backward_weight(context, context.axis.gather_rows(dy, rows, Traffic::attention), flat(core.output), write);
  const Tensor all = context.axis.gather_rows(x, rows, Traffic::attention);
  for (std::int64_t k = 0; k < context.axis.slices().count; ++k) {
    query_.backward_weight(context, k, flat(gradients.query.rows(k * rows, rows)), all, write);
  }
  for (std::int64_t j = 0; j < context.axis.kv_slices().count; ++j) {
    const std::int64_t begin = group_of(context.axis, j).begin * rows;
    key_.backward_weight(context, j, flat(gradients.key.rows(begin, rows)), all, write);
    value_.backward_weight(context, j, flat(gradients.value.rows(begin, rows)), all, write);
  }
}

std::int64_t Attention::scratch_bytes(const Context& context, std::int64_t batch, std::int64_t tokens) const {
  const std::int64_t rows = batch * tokens;
  const Sequences sequences{.batch = batch, .tokens = tokens};
  return std::max({kernels::attention_scratch_bytes(context.device, shape(context.axis, 0, sequences, tokens)),
                   query_.scratch_bytes(rows), key_.scratch_bytes(rows)});
}

}  // namespace trireme::layers
