#include "trireme/model/counts.hpp"

#include <algorithm>

namespace trireme::model {
namespace {

std::int64_t norm_elements(const ModelOptions& o) {
  return (o.norm == Norm::layernorm ? 2 : 1) * o.width;
}

/// A block's elements, by how the tensor axis cuts them.
struct BlockParts {
  std::int64_t sliced = 0;     ///< by query heads, or by columns of the mlp
  std::int64_t kv_sliced = 0;  ///< by key/value heads
  std::int64_t whole = 0;
  [[nodiscard]] std::int64_t sum() const { return sliced + kv_sliced + whole; }
};

BlockParts block_matrices(const ModelOptions& o) {
  const std::int64_t mlp_matrices = o.activation == Activation::swiglu ? 3 : 2;
  return {.sliced = o.width * (2 * o.heads * o.head_width + mlp_matrices * o.mlp_width),
          .kv_sliced = 2 * o.width * o.kv_heads * o.head_width};
}

BlockParts block_vectors(const ModelOptions& o) {
  BlockParts parts{.whole = 2 * norm_elements(o)};
  if (o.bias == Bias::none) return parts;
  parts.sliced = o.heads * o.head_width;
  parts.kv_sliced = 2 * o.kv_heads * o.head_width;
  if (o.bias == Bias::qkv) return parts;
  parts.sliced += (o.activation == Activation::swiglu ? 2 : 1) * o.mlp_width;
  parts.whole += 2 * o.width;
  return parts;
}

/// What these slices of num_slices hold.
std::int64_t held(const BlockParts& parts, std::int64_t kv_heads, std::int64_t num_slices,
                  const layers::Range& slices) {
  const std::int64_t kv_slices = std::min(num_slices, kv_heads);
  const std::int64_t slices_per_kv = num_slices / kv_slices;
  const std::int64_t held_kv = (slices.end() - 1) / slices_per_kv - slices.begin / slices_per_kv + 1;
  return parts.sliced / num_slices * slices.count + parts.kv_sliced / kv_slices * held_kv + parts.whole;
}

/// Rows of the vocabulary in these slices of ceil(V / S) rows.
std::int64_t vocabulary_rows(std::int64_t vocab, std::int64_t num_slices, const layers::Range& slices) {
  const std::int64_t rows = (vocab + num_slices - 1) / num_slices;
  return std::min(vocab, slices.end() * rows) - std::min(vocab, slices.begin * rows);
}

double attention_flop(const ModelOptions& o) {
  return static_cast<double>(o.heads * o.head_width) * static_cast<double>(o.context);
}

}  // namespace

std::int64_t parameter_count(const ModelOptions& options) {
  const ModelOptions o = resolved(options);
  return held_parameter_count(o, whole_model(o), 1, {.begin = 0, .count = 1});
}

std::int64_t held_parameter_count(const ModelOptions& options, const ChunkRange& chunk, std::int64_t num_slices,
                                  const layers::Range& slices, bool has_table) {
  const ModelOptions o = resolved(options);
  const std::int64_t table = vocabulary_rows(o.vocab, num_slices, slices) * o.width;
  std::int64_t count = chunk.num_blocks * (held(block_matrices(o), o.kv_heads, num_slices, slices) +
                                           held(block_vectors(o), o.kv_heads, num_slices, slices));
  if (chunk.embedding) count += table + (o.position == Position::learned ? o.context * o.width : 0);
  if (!chunk.head) return count;
  const bool shares_table = o.tied_embeddings && (chunk.embedding || has_table);
  return count + norm_elements(o) + (shares_table ? 0 : table);
}

std::int64_t matrix_parameter_count(const ModelOptions& options) {
  const ModelOptions o = resolved(options);
  return o.layers * block_matrices(o).sum() + o.vocab * o.width;
}

double flop_per_token(const ModelOptions& options) {
  return 3 * forward_flop_per_token(options);
}

double forward_flop_per_token(const ModelOptions& options) {
  const ModelOptions o = resolved(options);
  return 2 * static_cast<double>(matrix_parameter_count(o)) + 2 * static_cast<double>(o.layers) * attention_flop(o);
}

PassFlop block_flop_per_token(const ModelOptions& options) {
  const ModelOptions o = resolved(options);
  const auto matrices = static_cast<double>(block_matrices(o).sum());
  const double attention = attention_flop(o);
  return {.forward = 2 * matrices + 2 * attention,
          .backward_input = 2 * matrices + 4 * attention,
          .backward_weight = 2 * matrices};
}

PassFlop chunk_flop_per_token(const ModelOptions& options, const ChunkRange& chunk) {
  const PassFlop block = block_flop_per_token(options);
  const auto blocks = static_cast<double>(chunk.num_blocks);
  PassFlop flop{.forward = blocks * block.forward,
                .backward_input = blocks * block.backward_input,
                .backward_weight = blocks * block.backward_weight};
  if (chunk.head) flop.backward_input += 6 * static_cast<double>(options.vocab) * static_cast<double>(options.width);
  return flop;
}

double korthikanti_flop(double batch, double layers, double context, double width, double vocab) {
  return 72 * batch * layers * context * width * width * (1 + context / (6 * width) + vocab / (12 * width * layers));
}

}  // namespace trireme::model
