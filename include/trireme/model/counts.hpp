// Parameters and floating-point operations of a model and of its parts, as functions of its options.
#pragma once

#include <cstdint>

#include "trireme/layers/tensor_axis.hpp"
#include "trireme/model/options.hpp"
#include "trireme/model/partition.hpp"

namespace trireme::model {

/// Trainable parameters; a tied table counts once.
[[nodiscard]] std::int64_t parameter_count(const ModelOptions& options);

/// Elements of the weights that a rank holds of a chunk, of which it has the tensor slices `slices` of num_slices:
/// matrices and the vocabulary by slice, key/value heads by key/value slice, norms, positions and the biases of
/// row-parallel layers whole. What several ranks hold counts on each: replicas along the tensor axis, and the head's
/// copy of a tied table whose embedding is not in the same chunk (give `has_table` when another chunk of the rank has
/// it). One slice of one: a chunk's parameters.
[[nodiscard]] std::int64_t held_parameter_count(const ModelOptions& options, const ChunkRange& chunk,
                                                std::int64_t num_slices, const layers::Range& slices,
                                                bool has_table = false);

/// Parameters that take part in a matrix product with every token: all linear layers and the head (also when tied).
[[nodiscard]] std::int64_t matrix_parameter_count(const ModelOptions& options);

/// Model FLOP of training on one token: 6 * matrix parameters + 6 * layers * heads * head_width * context; the
/// attention term counts the causal half only. For the sizes of GPT-2 this is 6 (12 L D^2 + V D) + 6 L D T.
/// Recomputation does not count.
[[nodiscard]] double flop_per_token(const ModelOptions& options);

/// The same of inference (forward only): a third.
[[nodiscard]] double forward_flop_per_token(const ModelOptions& options);

/// Name of the formula in flop_per_token(), as the metrics state it.
inline constexpr const char* flop_formula = "causal: 6 P_matrix + 6 L H K T per token";

/// Model FLOP of a token, by the pass that spends them.
struct PassFlop {
  double forward = 0;
  double backward_input = 0;
  double backward_weight = 0;
  [[nodiscard]] double total() const noexcept { return forward + backward_input + backward_weight; }
};

/// Of one block: 2, 2 and 2 P for its matrices, and 2 and 4 H K T for its attention, which has no weights.
[[nodiscard]] PassFlop block_flop_per_token(const ModelOptions& options);

/// Of a chunk, all tensor ranks together. The head does all its work in the input pass, 6 V D: logits exist only chunk
/// by chunk of the rows. Over the chunks of a partition the totals add up to flop_per_token().
[[nodiscard]] PassFlop chunk_flop_per_token(const ModelOptions& options, const ChunkRange& chunk);

/// Model FLOP of one iteration of a GPT with full attention, Korthikanti et al. 2022 ("Reducing activation
/// recomputation in large transformer models"), equation 7: 72 B L s h^2 (1 + s / 6h + v / 12hL).
[[nodiscard]] double korthikanti_flop(double batch, double layers, double context, double width, double vocab);

}  // namespace trireme::model
