#include "config/options.hpp"

namespace trireme::config {
namespace {

Place bias_place() {
  return {.type = Type::boolean_or_choice,
          .get =
              [](const Deck& deck) {
                if (deck.model.bias == model::Bias::qkv) return Value(std::string("qkv"));
                return Value(deck.model.bias == model::Bias::all);
              },
          .set =
              [](Deck& deck, const Value& value) {
                const bool* all = std::get_if<bool>(&value);
                deck.model.bias = all == nullptr ? model::Bias::qkv : *all ? model::Bias::all : model::Bias::none;
              },
          .choices = {"qkv"}};
}

std::vector<Option> sizes() {
  using M = model::ModelOptions;
  const auto at = [](auto member) { return place(&Deck::model, member); };
  return {
      {.key = "model.layers",
       .place = at(&M::layers),
       .unit = "blocks",
       .range = at_least(1, 100000),
       .sentence = "Transformer blocks.",
       .required = true},
      {.key = "model.width",
       .place = at(&M::width),
       .unit = "elements",
       .range = at_least(1, 1 << 20),
       .sentence = "Elements of a token's vector between blocks.",
       .required = true},
      {.key = "model.heads",
       .place = at(&M::heads),
       .unit = "heads",
       .range = at_least(1, 1 << 16),
       .sentence = "Query heads of an attention; must divide `model.width` unless `model.head_width` is given.",
       .required = true},
      {.key = "model.kv_heads",
       .place = at(&M::kv_heads),
       .unit = "heads",
       .range = at_least(0, 1 << 16),
       .sentence = "Key and value heads, each shared by heads / kv_heads query heads; must divide `model.heads`. "
                   "0: as many as `model.heads`."},
      {.key = "model.head_width",
       .place = at(&M::head_width),
       .unit = "elements",
       .range = at_least(0, 1 << 16),
       .sentence = "Elements of a head; even when `model.position` is `rotary`. 0: width / heads."},
      {.key = "model.mlp_width",
       .place = at(&M::mlp_width),
       .unit = "elements",
       .range = at_least(0, 1 << 24),
       .sentence = "Hidden elements of the MLP; must be given for `swiglu`. 0: 4 * width."},
      {.key = "model.context",
       .place = at(&M::context),
       .unit = "tokens",
       .range = at_least(1, 1 << 24),
       .sentence = "Tokens of a sequence.",
       .required = true},
      {.key = "model.vocab",
       .place = at(&M::vocab),
       .unit = "tokens",
       .range = at_least(0, 2147483647),
       .sentence = "Tokens of the vocabulary; not below that of the data. 0: that of the data."},
  };
}

std::vector<Option> style() {
  using M = model::ModelOptions;
  const auto at = [](auto member) { return place(&Deck::model, member); };
  return {
      {.key = "model.norm",
       .place = choice(&Deck::model, &M::norm, {"layernorm", "rmsnorm"}),
       .sentence = "Normalisation before attention, MLP and head."},
      {.key = "model.norm_epsilon",
       .place = at(&M::norm_epsilon),
       .range = above(0),
       .sentence = "Added to the variance (layernorm) or the mean square (rmsnorm)."},
      {.key = "model.activation",
       .place = choice(&Deck::model, &M::activation, {"gelu_tanh", "gelu", "swiglu"}),
       .sentence = "Activation of the MLP; `swiglu` has a third matrix, the gate."},
      {.key = "model.position",
       .place = choice(&Deck::model, &M::position, {"learned", "rotary"}),
       .sentence = "A learned vector per position, or rotation of queries and keys."},
      {.key = "model.rotary_base",
       .place = at(&M::rotary_base),
       .range = above(0),
       .sentence = "Base of the rotary frequencies."},
      {.key = "model.bias",
       .place = bias_place(),
       .sentence = "Biases of linear layers: all (the head has none), none, or those of query, key and value only."},
      {.key = "model.tied_embeddings",
       .place = at(&M::tied_embeddings),
       .sentence = "The head uses the token embedding's weights."},
  };
}

std::vector<Option> starting() {
  using M = model::ModelOptions;
  const auto at = [](auto member) { return place(&Deck::model, member); };
  return {
      {.key = "model.dropout",
       .place = at(&M::dropout),
       .range = half_open(0, 1),
       .sentence = "Probability that an element is dropped after embedding, attention and MLP, in training.",
       .resume = Resume::free},
      {.key = "model.initial_deviation",
       .place = at(&M::initial_deviation),
       .range = at_least(0),
       .sentence = "Standard deviation of the first weights.",
       .resume = Resume::free},
  };
}

}  // namespace

std::vector<Section> model_sections() {
  Section section{"model", "The transformer: GPT-2 and Llama style from the same blocks.", {}};
  for (const auto& part : {sizes(), style()}) {
    for (Option option : part) {
      option.resume = Resume::refused;  // they say which model the stored weights are
      section.options.push_back(std::move(option));
    }
  }
  for (const Option& option : starting()) section.options.push_back(option);
  for (Option& option : section.options) option.owner = "model";
  return {section};
}

}  // namespace trireme::config
