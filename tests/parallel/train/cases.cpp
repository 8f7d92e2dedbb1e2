#include "parallel/train/cases.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "trireme/base/text.hpp"
#include "trireme/config/fit.hpp"
#include "trireme/layers/slices.hpp"
#include "trireme/optim/lanes.hpp"

#include "data/dataset_writer.hpp"
#include "support/array.hpp"

namespace trireme::testing {

using comm::Axis;

namespace {

constexpr const char* tiny_text = R"(
[model]
layers = 4
width = 32
heads = 4
context = 16
vocab = 96
dropout = 0.1
[batch]
global = 8
micro = 1
[learning_rate]
peak = 1e-2
warmup_steps = 3
[precision]
loss_scale_initial = 1024
loss_scale_window = 2
)";

/// Grids that round otherwise stay close only where training does not blow rounding up: hence the small learning rate,
/// and an epsilon that keeps gradients which are nothing but rounding from becoming steps.
constexpr const char* odd_text = R"(
[model]
layers = 5
width = 36
heads = 6
mlp_width = 60
context = 16
vocab = 97
[batch]
global = 12
micro = 1
[optimizer]
epsilon = 1e-6
[learning_rate]
peak = 1e-3
warmup_steps = 3
[precision]
loss_scale_initial = 1024
loss_scale_window = 2
)";

constexpr const char* llama_text = R"(
[model]
layers = 8
width = 320
heads = 8
kv_heads = 2
mlp_width = 864
vocab = 2003
norm = "rmsnorm"
activation = "swiglu"
position = "rotary"
bias = false
tied_embeddings = false
[batch]
global = 8
[learning_rate]
peak = 1e-3
warmup_steps = 3
[numerics]
grid_invariant = true
[precision]
loss_scale_initial = 1024
loss_scale_window = 2
)";

/// Of the order of Base.
constexpr std::array base_names{"tiny", "odd", "llama"};
constexpr std::array base_texts{tiny_text, odd_text, llama_text};

const char* name_of(Base base) {
  return base_names.at(static_cast<std::size_t>(base));
}

/// Random tokens; with a mask, the rows count differently many of them.
void write_dataset(const std::string& path, std::int64_t vocab, std::int64_t num_rows, std::int64_t context,
                   bool masked) {
  test::Numbers numbers(static_cast<std::uint64_t>(vocab));
  const std::int64_t num_tokens = num_rows * context + 1;
  std::vector<std::uint16_t> tokens;
  std::vector<std::uint8_t> mask;
  for (std::int64_t i = 0; i < num_tokens; ++i) {
    tokens.push_back(static_cast<std::uint16_t>(numbers.next(0, static_cast<double>(vocab))));
    mask.push_back((i - 1) % context <= (i / context * 7) % context ? 1 : 0);
  }
  data::TokenFileInfo info;
  info.path = path;
  info.num_tokens = num_tokens;
  info.vocab = vocab;
  info.num_documents = 1;
  info.has_loss_mask = masked;
  info.tokenizer_kind = "ids";
  info.tokenizer_model = std::to_string(vocab);
  data::DatasetWriter writer(info);
  writer.add_tokens(tokens.data(), num_tokens);
  writer.add_documents(std::array<std::int64_t, 1>{0});
  if (masked) writer.add_loss_mask(mask);
  writer.finish();
}

layers::SliceSizes slice_sizes(const config::Deck& deck) {
  return {.heads = deck.model.heads, .kv_heads = deck.model.kv_heads, .mlp_width = deck.model.mlp_width};
}

bool divides(std::int64_t divisor, std::int64_t number) {
  return number % divisor == 0;
}

std::vector<Factor> tiny_factors(const Precisions& precisions) {
  return {{"grid.data", {"1", "2", "4", "8"}},
          {"grid.tensor", {"1", "2", "4"}},
          {"grid.pipeline", {"1", "2", "4"}},
          {"pipeline.schedule", {"1f1b", "naive", "gpipe", "interleaved", "zero_bubble", "zero_bubble_h2"}},
          {"sharding.zero_stage", {"0", "1", "2", "3"}},
          {"recompute.mode", {"none", "selective", "full"}},
          {"precision.compute", precisions}};
}

std::vector<Factor> odd_factors(const Precisions& precisions) {
  return {{"grid.data", {"1", "2", "3", "4"}},
          {"grid.tensor", {"1", "2", "3"}},
          {"grid.pipeline", {"1", "2", "3", "4"}},
          {"pipeline.schedule", {"1f1b", "naive", "gpipe", "interleaved", "zero_bubble", "zero_bubble_h2"}},
          {"cut", {"balanced", "uneven"}},
          {"sharding.zero_stage", {"0", "1", "2", "3"}},
          {"sharding.group", {"0", "1", "2"}},
          {"recompute.mode", {"none", "selective", "full"}},
          {"recompute.layers", {"[]", "[1, 3]"}},
          {"comm.overlap", {"true", "false"}},
          {"model.tied_embeddings", {"true", "false"}},
          {"model.kv_heads", {"6", "3", "2"}},
          {"model.norm", {"layernorm", "rmsnorm"}},
          {"model.activation", {"gelu_tanh", "gelu", "swiglu"}},
          {"model.position", {"learned", "rotary"}},
          {"model.bias", {"true", "false", "qkv"}},
          {"model.dropout", {"0.0", "0.1"}},
          {"numerics.grid_invariant", {"true", "false"}},
          {"numerics.data_lanes", {"0", "2", "4"}},
          {"numerics.tensor_slices", {"0", "2"}},
          {"batch.micro", {"1", "2"}},
          {"precision.compute", precisions}};
}

std::vector<Factor> llama_factors(const Precisions& precisions) {
  return {{"grid.data", {"1", "2", "4", "8"}},
          {"grid.tensor", {"1", "2", "4", "8"}},
          {"grid.pipeline", {"1", "2", "4", "8"}},
          {"pipeline.schedule", {"1f1b", "naive", "gpipe", "interleaved", "zero_bubble", "zero_bubble_h2"}},
          {"sharding.zero_stage", {"0", "1", "2", "3"}},
          {"recompute.mode", {"none", "selective", "full"}},
          {"comm.overlap", {"true", "false"}},
          {"model.context", {"16", "64"}},
          {"model.dropout", {"0.0", "0.1"}},
          {"batch.micro", {"1", "2", "8"}},
          {"precision.compute", precisions}};
}

int num_ranks_of(const Combination& c) {
  return c.number("grid.data") * c.number("grid.tensor") * c.number("grid.pipeline");
}

/// One stage has one schedule, and interleaved has two chunks a stage.
bool is_tiny(const Combination& c, int num_ranks) {
  const bool interleaved = c["pipeline.schedule"] == "interleaved";
  const int pipeline = c.number("grid.pipeline");
  return num_ranks_of(c) <= num_ranks && (pipeline > 1 || c["pipeline.schedule"] == "1f1b") &&
         (!interleaved || 2 * pipeline <= 4);
}

/// Blocks of each chunk, the ends without any: not what the program chooses.
std::string uneven_cut(int chunks) {
  constexpr std::array<const char*, 7> cuts{"", "", "[0, 5]", "[0, 5, 0]", "[0, 2, 3, 0]", "", "[0, 1, 2, 1, 1, 0]"};
  return cuts.at(static_cast<std::size_t>(chunks));
}

int odd_chunks(const Combination& c) {
  return c["pipeline.schedule"] == "interleaved" && c.number("grid.pipeline") <= 3 ? 2 : 1;
}

bool slices_fit(const Combination& c, int slices) {
  const int kv_heads = c.number("model.kv_heads");
  return divides(slices, 6) && divides(slices, 60) && (divides(slices, kv_heads) || divides(kv_heads, slices));
}

bool lanes_fit(const Combination& c) {
  const int lanes = c.number("numerics.data_lanes");
  const int micro_batches = 12 / c.number("batch.micro");
  const int data = c.number("grid.data");
  return divides(data, micro_batches) && (lanes == 0 || (divides(lanes, micro_batches) && divides(data, lanes)));
}

bool is_odd(const Combination& c, int num_ranks) {
  const int tensor = c.number("grid.tensor");
  const int slices = c.number("numerics.tensor_slices");
  const int group = c.number("sharding.group");
  const int pipeline = c.number("grid.pipeline");
  const int virtual_stages = pipeline * odd_chunks(c);
  return num_ranks_of(c) <= num_ranks && lanes_fit(c) && slices_fit(c, tensor) &&
         (slices == 0 || (slices_fit(c, slices) && divides(tensor, slices))) &&
         (group == 0 || (c["sharding.zero_stage"] != "0" && divides(group, c.number("grid.data")))) &&
         (virtual_stages <= 5 || c["cut"] == "uneven");
}

/// With interleaved two of at most eight chunks are on a stage.
bool is_llama(const Combination& c, int num_ranks) {
  const int pipeline = c.number("grid.pipeline");
  return num_ranks_of(c) <= num_ranks && divides(c.number("grid.data"), 8 / c.number("batch.micro")) &&
         (c["pipeline.schedule"] != "interleaved" || (pipeline > 1 && 2 * pipeline <= 8));
}

Case tiny_case(const std::vector<Factor>& factors, const Combination& c) {
  Case result{Base::tiny, {"numerics.grid_invariant=true"}};
  for (const Factor& factor : factors) result.overrides.push_back(factor.name + "=" + c[factor.name]);
  if (c["pipeline.schedule"] == "interleaved") result.overrides.emplace_back("pipeline.chunks=2");
  return result;
}

Case llama_case(const std::vector<Factor>& factors, const Combination& c) {
  Case result{Base::llama, {}};
  for (const Factor& factor : factors) result.overrides.push_back(factor.name + "=" + c[factor.name]);
  if (c["pipeline.schedule"] == "interleaved") result.overrides.emplace_back("pipeline.chunks=2");
  return result;
}

Case odd_case(const std::vector<Factor>& factors, const Combination& c) {
  Case result{Base::odd, {}};
  for (const Factor& factor : factors) {
    if (factor.name != "cut") result.overrides.push_back(factor.name + "=" + c[factor.name]);
  }
  const int chunks = odd_chunks(c);
  result.overrides.push_back(fmt::format("pipeline.chunks={}", chunks));
  const int pipeline = c.number("grid.pipeline");
  if (c["cut"] == "uneven" && pipeline > 1) {
    result.overrides.push_back("pipeline.layers_per_stage=" + uneven_cut(pipeline * chunks));
  }
  return result;
}

bool is_placement(const std::string& one) {
  const std::string section = one.substr(0, one.find('.'));
  return section == "grid" || section == "pipeline" || section == "sharding" || section == "recompute" ||
         section == "comm";
}

}  // namespace

std::string Case::text() const {
  std::string text = name_of(base);
  for (const std::string& one : overrides) text += " " + one;
  return text;
}

Case Case::on_one_rank() const {
  Case result{base, {}};
  std::copy_if(overrides.begin(), overrides.end(), std::back_inserter(result.overrides), std::not_fn(is_placement));
  return result;
}

Case Case::placement() const {
  Case result{base, {}};
  std::copy_if(overrides.begin(), overrides.end(), std::back_inserter(result.overrides), is_placement);
  return result;
}

Case Case::with(const std::vector<std::string>& more) const {
  Case result = *this;
  result.overrides.insert(result.overrides.end(), more.begin(), more.end());
  return result;
}

Case case_of(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  const auto* const base = std::find(base_names.begin(), base_names.end(), word);
  Case result{static_cast<Base>(base - base_names.begin()), {}};
  // Lists have blanks, and every option has an equals sign.
  while (words >> word) {
    if (word.find('=') == std::string::npos) {
      result.overrides.back() += " " + word;
    } else {
      result.overrides.push_back(word);
    }
  }
  return result;
}

Laid lay(const Case& what, const std::string& data_folder) {
  const std::string name = name_of(what.base);
  std::string text = fmt::format(
      "[run]\noutput = \"unused\"\nsteps = 6\n[data]\ntrain = [\"{0}/{1}.h5\"]\nvalidation = [\"{0}/{1}.h5\"]\n",
      data_folder, name);
  text += base_texts.at(static_cast<std::size_t>(what.base));
  Laid laid{config::parse_deck(text, name, what.overrides), {}};
  if (laid.deck.grid.data == 0) laid.deck.grid.data = 1;
  const comm::GridOptions& grid = laid.deck.grid;
  laid.grid = comm::fit_grid(grid, grid.data * grid.tensor * grid.pipeline);
  config::check_grid(laid.deck, laid.grid);
  return laid;
}

void write_datasets(const std::string& data_folder) {
  write_dataset(data_folder + "/tiny.h5", 96, 40, 16, false);
  write_dataset(data_folder + "/odd.h5", 97, 37, 16, true);
  write_dataset(data_folder + "/llama.h5", 2003, 37, 64, true);
}

bool is_promised(const Laid& laid) {
  const config::Deck& deck = laid.deck;
  if (!deck.numerics.grid_invariant) return false;
  const std::int64_t lanes =
      optim::resolve_lanes(deck.numerics.data_lanes, deck.batch.global / deck.batch.micro, 1, true);
  const std::int64_t slices = layers::resolve_slices(deck.numerics.tensor_slices, slice_sizes(deck), 1, true);
  return divides(laid.grid[Axis::data], lanes) && divides(laid.grid[Axis::tensor], slices);
}

namespace {

/// Cases of a covering sample.
template <class IsLegal, class MakeCase>
std::vector<Case> sample(const std::vector<Factor>& factors, int num_ranks, std::size_t num_cases,
                         const IsLegal& is_legal, const MakeCase& make_case) {
  std::vector<Case> cases;
  for (const Combination& combination : cover_pairs(
           factors, [&](const Combination& c) { return is_legal(c, num_ranks); }, num_cases)) {
    cases.push_back(make_case(factors, combination));
  }
  return cases;
}

}  // namespace

std::vector<Case> tiny_product(int num_ranks, const Precisions& precisions) {
  const std::vector<Factor> factors = tiny_factors(precisions);
  std::vector<Case> cases;
  for (const Combination& c : all_combinations(factors, [&](const Combination& c) { return is_tiny(c, num_ranks); })) {
    cases.push_back(tiny_case(factors, c));
  }
  return cases;
}

std::vector<Case> tiny_sample(int num_ranks, std::size_t num_cases, const Precisions& precisions) {
  return sample(tiny_factors(precisions), num_ranks, num_cases, is_tiny, tiny_case);
}

std::vector<Case> odd_sample(int num_ranks, std::size_t num_cases, const Precisions& precisions) {
  return sample(odd_factors(precisions), num_ranks, num_cases, is_odd, odd_case);
}

std::vector<Case> llama_sample(int num_ranks, std::size_t num_cases, const Precisions& precisions) {
  return sample(llama_factors(precisions), num_ranks, num_cases, is_llama, llama_case);
}

}  // namespace trireme::testing
