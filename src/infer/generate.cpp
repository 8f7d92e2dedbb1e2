#include <cstdio>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/infer/infer.hpp"
#include "trireme/kernels/random.hpp"
#include "trireme/pipeline/evaluate.hpp"
#include "trireme/text/tokenizer.hpp"

#include "infer/loaded_model.hpp"

namespace trireme::infer {

namespace {

/// Uniform in [0, 1) of the index-th drawn token.
double uniform_at(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t purpose = kernels::purpose_of("generate");
  const kernels::PhiloxCounter words =
      kernels::philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                       static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(purpose >> 32)},
                      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::uint64_t bits = (static_cast<std::uint64_t>(words[0]) << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// The bytes at the end of `text` that begin a UTF-8 character but do not finish it.
std::size_t unfinished_bytes(const std::string& text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const std::size_t needed = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
    return needed > back ? back : 0;
  }
  return 0;
}

/// Prints the text of a growing list of ids as far as its characters are whole.
class TextStream {
 public:
  TextStream(const text::Tokenizer& tokenizer, bool speaks) : tokenizer_(tokenizer), speaks_(speaks) {}
  void show(const std::vector<std::int32_t>& ids) {
    if (!speaks_) return;
    const std::string text = tokenizer_.decode(ids);
    const std::size_t whole = text.size() - unfinished_bytes(text);
    if (whole > printed_) print(text.substr(printed_, whole - printed_));
    printed_ = std::max(printed_, whole);
  }

 private:
  const text::Tokenizer& tokenizer_;
  bool speaks_;
  std::size_t printed_ = 0;
};

std::vector<std::int32_t> encode_prompt(const text::Tokenizer& tokenizer, const std::string& prompt,
                                        std::int64_t vocab) {
  std::vector<std::int32_t> ids;
  tokenizer.encode(prompt, ids);
  if (ids.empty()) {
    throw InputError("`--prompt` holds no token (a model continues a text) give at least one character");
  }
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocab) {
      throw InputError(fmt::format("`--prompt` holds the id {} (the vocabulary has {}) use ids below that", id, vocab));
    }
  }
  return ids;
}

}  // namespace

void generate(comm::Communicator& world, const device::Device& device, const GenerateOptions& options) {
  const comm::ProcessGrid grid(world, comm::fit_grid(options.grid, world.size()));
  LoadedModel model(grid, device, options.checkpoint,
                    [](model::Stage& stage, device::Arena& arena) { stage.allocate_generation(arena); });
  model::Stage& stage = model.stage();
  const auto tokenizer = text::make_tokenizer(model.metadata().tokenizer_kind, model.metadata().tokenizer_model);
  const std::int64_t context = stage.options().context;

  std::vector<std::int32_t> ids = encode_prompt(*tokenizer, options.prompt, stage.options().vocab);
  TextStream stream(*tokenizer, world.rank() == 0);
  stream.show(ids);
  std::size_t fed = ids.size() > static_cast<std::size_t>(context) ? ids.size() - static_cast<std::size_t>(context) : 0;
  for (std::int64_t index = 0; index < options.tokens; ++index) {
    if (stage.sequence_length() + static_cast<std::int64_t>(ids.size() - fed) > context) {
      stage.clear_sequence();
      fed = ids.size() - static_cast<std::size_t>(std::max<std::int64_t>(1, context / 2));
    }
    const std::vector<float> logits =
        pipeline::continue_sequence(stage, std::span(ids).subspan(fed), grid.along(comm::Axis::pipeline));
    // A model may have more rows than the tokenizer has ids; those are never drawn.
    const std::size_t known = std::min<std::size_t>(logits.size(), static_cast<std::size_t>(tokenizer->vocab()));
    fed = ids.size();
    ids.push_back(sample_token({logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(known)},
                               options.temperature, options.top_k, uniform_at(options.seed, index)));
    stream.show(ids);
  }
  if (world.rank() == 0) print("\n");
}

}  // namespace trireme::infer
