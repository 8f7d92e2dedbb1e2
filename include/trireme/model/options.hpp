// The deck's `model` section.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/kernels/random.hpp"

namespace trireme::model {

/// Places in a block where elements drop out: attention, its residual, the mlp's residual. The embedding has one more.
inline constexpr std::int64_t dropout_sites_of_block = 3;
inline constexpr std::int64_t max_layers_with_dropout = (kernels::max_dropout_sites - 1) / dropout_sites_of_block;

enum class Norm : std::uint8_t { layernorm, rmsnorm };
enum class Activation : std::uint8_t { gelu_tanh, gelu, swiglu };
enum class Position : std::uint8_t { learned, rotary };
enum class Bias : std::uint8_t { none, all, qkv };

/// GPT-2 and Llama style from the same blocks.
struct ModelOptions {
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;    ///< 0: heads
  std::int64_t head_width = 0;  ///< 0: width / heads
  std::int64_t mlp_width = 0;   ///< 0: 4 * width
  std::int64_t context = 0;     ///< tokens
  std::int64_t vocab = 0;       ///< 0: the data's
  Norm norm = Norm::layernorm;
  double norm_epsilon = 1e-5;
  Activation activation = Activation::gelu_tanh;
  Position position = Position::learned;
  double rotary_base = 10000;
  Bias bias = Bias::all;
  bool tied_embeddings = true;
  double dropout = 0;
  double initial_deviation = 0.02;
  bool operator==(const ModelOptions&) const = default;
};

/// Fills the zeros that follow from other sizes (kv_heads, head_width, mlp_width). vocab stays.
[[nodiscard]] ModelOptions resolved(ModelOptions options);

}  // namespace trireme::model
