#include "model/layer_options.hpp"

#include <cmath>

#include <fmt/core.h>

namespace trireme::model {

namespace {

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

/// Dropout sites: 0 is the embedding's, then those of the blocks.
std::uint32_t site_of(std::int64_t block, std::uint32_t which) {
  return 1 + static_cast<std::uint32_t>(dropout_sites_of_block * block) + which;
}

}  // namespace

layers::NormOptions norm_options(const ModelOptions& o, const std::string& name, int bucket) {
  return {.name = name,
          .kind = o.norm == Norm::layernorm ? layers::NormKind::layer : layers::NormKind::rms,
          .width = o.width,
          .epsilon = o.norm_epsilon,
          .bucket = bucket};
}

layers::BlockOptions block_options(const ModelOptions& o, std::int64_t index, int bucket) {
  const std::string name = fmt::format("blocks.{}", index);
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

}  // namespace trireme::model
