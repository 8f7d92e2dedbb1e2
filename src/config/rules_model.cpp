// Rules about the model.
#include <algorithm>

#include <fmt/format.h>

#include "config/rules.hpp"

namespace trireme::config {
namespace {

std::string heads_divide_width(const Deck& deck) {
  const model::ModelOptions& m = deck.model;
  if (m.head_width != 0 || m.width % m.heads == 0) return {};
  return fmt::format(
      "does not divide `model.width = {}` (a head has width / heads elements) choose heads that divide the "
      "width, or give `model.head_width`",
      m.width);
}

std::string kv_heads_divide_heads(const Deck& deck) {
  const model::ModelOptions& m = deck.model;
  if (m.kv_heads == 0 || m.heads % m.kv_heads == 0) return {};
  return fmt::format(
      "does not divide `model.heads = {}` (each is shared by heads / kv_heads query heads) choose a divisor", m.heads);
}

std::string rotary_needs_even_heads(const Deck& deck) {
  const model::ModelOptions& m = deck.model;
  if (m.position != model::Position::rotary) return {};
  const std::int64_t head_width = m.head_width != 0 ? m.head_width : m.width / m.heads;
  if (head_width % 2 == 0) return {};
  return fmt::format(
      "does not go with an odd head (rotary positions turn pairs of elements, a head has {}) choose an even "
      "`model.head_width`",
      head_width);
}

std::string swiglu_needs_mlp_width(const Deck& deck) {
  const model::ModelOptions& m = deck.model;
  if (m.activation != model::Activation::swiglu || m.mlp_width != 0) return {};
  return fmt::format(
      "needs `model.mlp_width` (with three matrices 4 * width is not the usual size) give e.g. 8 / 3 of the "
      "width, {}",
      std::max<std::int64_t>(1, (m.width * 8 / 3 + 7) / 8 * 8));
}

/// The limits of the dropout's counters (kernels/random.hpp).
std::string dropout_can_count(const Deck& deck) {
  const model::ModelOptions m = model::resolved(deck.model);
  if (m.dropout == 0) return {};
  constexpr auto most_elements = static_cast<double>(kernels::max_dropout_elements);
  constexpr std::int64_t most_layers = model::max_layers_with_dropout;
  const auto context = static_cast<double>(m.context);
  const double elements = context * std::max(static_cast<double>(m.width), static_cast<double>(m.heads) * context);
  if (elements > most_elements) {
    return fmt::format(
        "is not possible with `model.context = {}`, `model.heads = {}` and `model.width = {}` (heads * context * "
        "context and context * width are counted up to 2^50) set it to 0 or choose a shorter context",
        m.context, m.heads, m.width);
  }
  if (m.layers <= most_layers) return {};
  return fmt::format("is not possible with `model.layers = {}` (dropouts are numbered up to {} layers) set it to 0",
                     m.layers, most_layers);
}

}  // namespace

std::vector<Rule> model_rules() {
  return {
      {{"model.heads", "model.width", "model.head_width"}, heads_divide_width},
      {{"model.kv_heads", "model.heads"}, kv_heads_divide_heads},
      {{"model.position", "model.head_width", "model.width", "model.heads"}, rotary_needs_even_heads},
      {{"model.activation", "model.mlp_width", "model.width"}, swiglu_needs_mlp_width},
      {{"model.dropout", "model.context", "model.heads", "model.width", "model.layers"}, dropout_can_count},
  };
}

}  // namespace trireme::config
