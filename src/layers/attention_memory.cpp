// Where the attention's activations come from.
#include "trireme/layers/attention.hpp"

#include "layers/views.hpp"

namespace trireme::layers {

namespace {

tensor::Shape query_shape(const AttentionOptions& options, const TensorAxis& axis, std::int64_t rows) {
  return {axis.slices().count * rows, options.heads / axis.num_slices(), options.head_width};
}

/// `slices` slices of key/value heads.
tensor::Shape kv_shape(const AttentionOptions& options, const TensorAxis& axis, std::int64_t slices,
                       std::int64_t rows) {
  return {slices * rows, options.kv_heads / axis.num_kv_slices(), options.head_width};
}

}  // namespace

AttentionCore Attention::allocate_core(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                       std::int64_t tokens) const {
  return {.output = allocate_activation(arena, query_shape(options_, axis, batch * tokens), axis.compute()),
          .log_sum_exp = allocate_activation(
              arena, {axis.slices().count * batch, options_.heads / axis.num_slices(), tokens}, Dtype::f32)};
}

AttentionActivations Attention::allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                         std::int64_t tokens, const AttentionCore* shared_core) const {
  const std::int64_t rows = batch * tokens;
  const tensor::Shape keys = kv_shape(options_, axis, axis.kv_slices().count, rows);
  return {.query = allocate_activation(arena, query_shape(options_, axis, rows), axis.compute()),
          .key = allocate_activation(arena, keys, axis.compute()),
          .value = allocate_activation(arena, keys, axis.compute()),
          .core = shared_core != nullptr ? *shared_core : allocate_core(arena, axis, batch, tokens)};
}

AttentionGradients Attention::allocate_gradients(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                                 std::int64_t tokens, bool again) const {
  const std::int64_t rows = batch * tokens;
  const tensor::Shape queries = query_shape(options_, axis, rows);
  const tensor::Shape keys = kv_shape(options_, axis, axis.slices().count, rows);
  return {.query = allocate_activation(arena, queries, axis.compute()),
          .key = allocate_activation(arena, keys, axis.compute()),
          .value = allocate_activation(arena, keys, axis.compute()),
          .core = allocate_activation(arena, queries, axis.compute()),
          .again = again ? allocate_core(arena, axis, batch, tokens) : AttentionCore{}};
}

KeyValueCache Attention::allocate_cache(device::Arena& arena, const TensorAxis& axis, std::int64_t context) const {
  const tensor::Shape shape = kv_shape(options_, axis, axis.kv_slices().count, context);
  return {.key = allocate_activation(arena, shape, axis.compute()),
          .value = allocate_activation(arena, shape, axis.compute()),
          .context = context};
}

}  // namespace trireme::layers
