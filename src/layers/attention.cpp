#include "trireme/layers/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trireme/kernels/rotary.hpp"

namespace trireme::layers {

namespace {

using device::MemoryClass;
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

/// [N, heads, K] seen as the [N, heads * K] that a linear layer takes.
Tensor flat(const Tensor& heads) {
  return heads.reshaped({heads.shape[0], heads.shape[1] * heads.shape[2]});
}

void append(const Tensor& rows, const Tensor& cache, std::int64_t length) {
  const Tensor target = cache.rows(length, rows.shape[0]);
  std::memcpy(target.data, rows.data, rows.bytes());
}

}  // namespace

Attention::Attention(tensor::ParameterStore& parameters, const AttentionOptions& options)
    : options_(options),
      query_(parameters, projection(options, "query", options.width, options.heads * options.head_width,
                                    options.qkv_bias, options.initial_deviation)),
      key_(parameters, projection(options, "key", options.width, options.kv_heads * options.head_width,
                                  options.qkv_bias, options.initial_deviation)),
      value_(parameters, projection(options, "value", options.width, options.kv_heads * options.head_width,
                                    options.qkv_bias, options.initial_deviation)),
      output_(parameters, projection(options, "output", options.heads * options.head_width, options.width,
                                     options.output_bias, options.output_deviation)) {}

AttentionActivations Attention::allocate(device::Arena& arena, std::int64_t batch, std::int64_t tokens) const {
  const std::int64_t rows = batch * tokens;
  const tensor::Shape queries{rows, options_.heads, options_.head_width};
  const tensor::Shape keys{rows, options_.kv_heads, options_.head_width};
  const auto make = [&](const tensor::Shape& shape) {
    return tensor::allocate(arena, shape, Dtype::f32, MemoryClass::activations);
  };
  return {.query = make(queries),
          .key = make(keys),
          .value = make(keys),
          .core = make(queries),
          .log_sum_exp = make({batch, options_.heads, tokens})};
}

AttentionGradients Attention::allocate_gradients(device::Arena& arena, std::int64_t rows) const {
  const tensor::Shape queries{rows, options_.heads, options_.head_width};
  const tensor::Shape keys{rows, options_.kv_heads, options_.head_width};
  const auto make = [&](const tensor::Shape& shape) {
    return tensor::allocate(arena, shape, Dtype::f32, MemoryClass::activations);
  };
  return {.query = make(queries), .key = make(keys), .value = make(keys), .core = make(queries)};
}

KeyValueCache Attention::allocate_cache(device::Arena& arena, std::int64_t context) const {
  const tensor::Shape shape{context, options_.kv_heads, options_.head_width};
  return {.key = tensor::allocate(arena, shape, Dtype::f32, MemoryClass::activations),
          .value = tensor::allocate(arena, shape, Dtype::f32, MemoryClass::activations)};
}

kernels::AttentionShape Attention::shape(const Sequences& sequences, std::int64_t keys) const {
  return {.batch = sequences.batch,
          .queries = sequences.tokens,
          .keys = keys,
          .heads = options_.heads,
          .kv_heads = options_.kv_heads,
          .head_size = options_.head_width,
          .causal = true,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(options_.head_width)))};
}

void Attention::forward(const Context& context, const Sequences& sequences, const Tensor& rotary_table, const Tensor& x,
                        const Tensor& y, const AttentionActivations& activations, KeyValueCache* cache) const {
  const std::int64_t rows = sequences.rows();
  const Tensor query = activations.query.rows(0, rows);
  const Tensor core = activations.core.rows(0, rows);
  Tensor key = activations.key.rows(0, rows);
  Tensor value = activations.value.rows(0, rows);
  query_.forward(context, x, flat(query));
  key_.forward(context, x, flat(key));
  value_.forward(context, x, flat(value));
  if (!rotary_table.empty()) {
    kernels::rotary_apply(context.device, rotary_table, sequences.positions, kernels::Rotation::forward, query);
    kernels::rotary_apply(context.device, rotary_table, sequences.positions, kernels::Rotation::forward, key);
  }
  std::int64_t keys = sequences.tokens;
  if (cache != nullptr) {
    append(key, cache->key, cache->length);
    append(value, cache->value, cache->length);
    cache->length += sequences.tokens;
    keys = cache->length;
    key = cache->key.rows(0, keys);
    value = cache->value.rows(0, keys);
  }
  Tensor log_sum_exp = activations.log_sum_exp;
  log_sum_exp.shape = {sequences.batch, options_.heads, sequences.tokens};
  kernels::attention_forward(context.device, shape(sequences, keys),
                             sequences.dropout(options_.dropout, options_.dropout_site), query, key, value,
                             sequences.starts, core, log_sum_exp, context.scratch);
  output_.forward(context, flat(core), y);
}

void Attention::backward_input(const Context& context, const Sequences& sequences, const Tensor& rotary_table,
                               const AttentionActivations& activations, const Tensor& dy,
                               const AttentionGradients& gradients, const Tensor& dx) const {
  using kernels::Write;
  output_.backward_input(context, dy, flat(gradients.core), Write::set);
  kernels::attention_backward(
      context.device, shape(sequences, sequences.tokens), sequences.dropout(options_.dropout, options_.dropout_site),
      activations.query, activations.key, activations.value, sequences.starts, activations.core,
      activations.log_sum_exp, gradients.core, gradients.query, gradients.key, gradients.value, context.scratch);
  if (!rotary_table.empty()) {
    kernels::rotary_apply(context.device, rotary_table, sequences.positions, kernels::Rotation::backward,
                          gradients.query);
    kernels::rotary_apply(context.device, rotary_table, sequences.positions, kernels::Rotation::backward,
                          gradients.key);
  }
  query_.backward_input(context, flat(gradients.query), dx, Write::set);
  key_.backward_input(context, flat(gradients.key), dx, Write::add);
  value_.backward_input(context, flat(gradients.value), dx, Write::add);
}

void Attention::backward_weight(const Context& context, const AttentionActivations& activations, const Tensor& x,
                                const Tensor& dy, const AttentionGradients& gradients, kernels::Write write) const {
  output_.backward_weight(context, flat(activations.core), dy, write);
  query_.backward_weight(context, x, flat(gradients.query), write);
  key_.backward_weight(context, x, flat(gradients.key), write);
  value_.backward_weight(context, x, flat(gradients.value), write);
}

std::int64_t Attention::scratch_bytes(const device::Device& device, std::int64_t batch, std::int64_t tokens) const {
  const std::int64_t rows = batch * tokens;
  const Sequences sequences{.batch = batch, .tokens = tokens};
  return std::max({kernels::attention_scratch_bytes(device, shape(sequences, tokens)), query_.scratch_bytes(rows),
                   key_.scratch_bytes(rows), output_.scratch_bytes(rows)});
}

}  // namespace trireme::layers
