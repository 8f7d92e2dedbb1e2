// Parameters and floating-point operations of a model, as functions of its options.
#pragma once

#include <cstdint>

#include "trireme/model/options.hpp"

namespace trireme::model {

/// Trainable parameters; a tied table counts once.
[[nodiscard]] std::int64_t parameter_count(const ModelOptions& options);

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

/// Model FLOP of one iteration of a GPT with full attention, Korthikanti et al. 2022 ("Reducing activation
/// recomputation in large transformer models"), equation 7: 72 B L s h^2 (1 + s / 6h + v / 12hL).
[[nodiscard]] double korthikanti_flop(double batch, double layers, double context, double width, double vocab);

}  // namespace trireme::model
