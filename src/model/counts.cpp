#include "trireme/model/counts.hpp"

namespace trireme::model {

namespace {

std::int64_t block_matrices(const ModelOptions& o) {
  const std::int64_t query = o.heads * o.head_width;
  const std::int64_t key = o.kv_heads * o.head_width;
  const std::int64_t mlp_matrices = o.activation == Activation::swiglu ? 3 : 2;
  return 2 * o.width * query + 2 * o.width * key + mlp_matrices * o.width * o.mlp_width;
}

std::int64_t block_vectors(const ModelOptions& o) {
  const std::int64_t norms = (o.norm == Norm::layernorm ? 4 : 2) * o.width;
  const std::int64_t qkv = (o.heads + 2 * o.kv_heads) * o.head_width;
  const std::int64_t hidden = (o.activation == Activation::swiglu ? 2 : 1) * o.mlp_width;
  switch (o.bias) {
    case Bias::none:
      return norms;
    case Bias::qkv:
      return norms + qkv;
    case Bias::all:
      return norms + qkv + o.width + hidden + o.width;
  }
  return norms;
}

}  // namespace

std::int64_t parameter_count(const ModelOptions& options) {
  const ModelOptions o = resolved(options);
  const std::int64_t table = o.vocab * o.width;
  const std::int64_t positions = o.position == Position::learned ? o.context * o.width : 0;
  const std::int64_t final_norm = (o.norm == Norm::layernorm ? 2 : 1) * o.width;
  return (o.tied_embeddings ? 1 : 2) * table + positions + final_norm +
         o.layers * (block_matrices(o) + block_vectors(o));
}

std::int64_t matrix_parameter_count(const ModelOptions& options) {
  const ModelOptions o = resolved(options);
  return o.layers * block_matrices(o) + o.vocab * o.width;
}

double flop_per_token(const ModelOptions& options) {
  return 3 * forward_flop_per_token(options);
}

double forward_flop_per_token(const ModelOptions& options) {
  const ModelOptions o = resolved(options);
  const auto attention = static_cast<double>(o.layers * o.heads * o.head_width) * static_cast<double>(o.context);
  return 2 * static_cast<double>(matrix_parameter_count(o)) + 2 * attention;
}

double korthikanti_flop(double batch, double layers, double context, double width, double vocab) {
  return 72 * batch * layers * context * width * width * (1 + context / (6 * width) + vocab / (12 * width * layers));
}

}  // namespace trireme::model
