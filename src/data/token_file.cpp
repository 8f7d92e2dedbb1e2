#include "trireme/data/token_file.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "data/format.hpp"
#include "data/hashed_array.hpp"
#include "data/input_file.hpp"

namespace trireme::data {
namespace {

/// Opens the file when it begins as a file written by Trireme; its metadata is verified before the library sees it.
std::unique_ptr<hdf5::Reader> open_verified(const io::File& file) {
  if (is_trireme_file(file)) return std::make_unique<hdf5::Reader>(file.path());
  throw InputError(fmt::format(
      "`{}` is not a Trireme dataset (it does not begin as a file written by Trireme) make one with `trireme prepare`",
      file.path()));
}

void check_format(const hdf5::Reader& reader) {
  if (!reader.has_attribute("/", "format") || reader.text_attribute("/", "format") != format_name) {
    throw InputError(
        fmt::format("`{}` is not a Trireme dataset (its attribute `format` is not `{}`) make one with "
                    "`trireme prepare`",
                    reader.path(), format_name));
  }
  const std::int64_t version = reader.integer_attribute("/", "version");
  if (version != format_version) {
    throw InputError(
        fmt::format("`{}` is a dataset of version {} (this program reads version {}) make it anew with "
                    "`trireme prepare`",
                    reader.path(), version, format_version));
  }
}

std::int64_t count_attribute(const hdf5::Reader& reader, const std::string& name, std::int64_t most) {
  const std::int64_t value = reader.integer_attribute("/", name);
  if (value < 1 || value > most) {
    throw InputError(
        fmt::format("attribute `{}` of `{}` is `{}` (must be 1 ... {}) make the file anew with `trireme "
                    "prepare`",
                    name, reader.path(), value, most));
  }
  return value;
}

std::string read_tokenizer_model(const hdf5::Reader& reader) {
  const std::string name = "tokenizer_model";
  if (!reader.has(name)) return {};
  std::string model = reader.read_bytes(name);
  if (reader.text_attribute("/", hash_attribute_of(name)) != io::hash128(model.data(), model.size()).text()) {
    throw InputError(
        fmt::format("dataset `{}` of `{}` is damaged (its hash is not the stored one) copy the file again or "
                    "make it anew with `trireme prepare`",
                    name, reader.path()));
  }
  return model;
}

TokenFileInfo read_info(const hdf5::Reader& reader) {
  check_format(reader);
  TokenFileInfo info;
  info.path = reader.path();
  info.vocab = count_attribute(reader, "vocab", max_vocab);
  info.num_tokens = count_attribute(reader, "num_tokens", std::int64_t{1} << 56);
  info.num_documents = count_attribute(reader, "num_documents", info.num_tokens);
  info.has_sequence_starts = reader.integer_attribute("/", "sequence_starts") != 0;
  info.has_loss_mask = reader.has("loss_mask");
  info.tokenizer_kind = reader.text_attribute("/", "tokenizer");
  info.tokenizer_model = read_tokenizer_model(reader);
  return info;
}

template <class Stored>
void widen(const std::vector<char>& bytes, std::span<std::int32_t> tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Stored token;
    std::memcpy(&token, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    tokens[i] = static_cast<std::int32_t>(token);
  }
}

}  // namespace

struct TokenFile::Contents {
  TokenFileInfo info;
  std::optional<HashedArray> tokens;
  std::optional<HashedArray> documents;
  std::optional<HashedArray> loss_mask;

  explicit Contents(const std::string& path);
  void check_documents() const;
  [[nodiscard]] std::int64_t document_start(std::int64_t document) const;
  [[nodiscard]] std::int64_t document_of(std::int64_t position) const;
};

TokenFile::Contents::Contents(const std::string& path) {
  const auto file = std::make_shared<const io::File>(open_input(path));
  const auto reader = open_verified(*file);
  info = read_info(*reader);
  tokens.emplace(*reader, file, "tokens", token_dtype(info.vocab), info.num_tokens);
  documents.emplace(*reader, file, "documents", Dtype::i64, info.num_documents);
  if (info.has_loss_mask) loss_mask.emplace(*reader, file, "loss_mask", Dtype::u8, info.num_tokens);
  check_documents();
}

/// The leading borders (a MiB of them) are checked now, all others when they are used: a file may have billions.
void TokenFile::Contents::check_documents() const {
  const std::int64_t count = std::min(info.num_documents, hash_block_bytes / std::int64_t{sizeof(std::int64_t)});
  std::vector<std::int64_t> starts(static_cast<std::size_t>(count));
  documents->read(0, count, starts.data());
  const auto refuse = [&](std::size_t position, const std::string& why) {
    throw InputError(
        fmt::format("dataset `documents` of `{}`, position {}: `{}` {} make the file anew with `trireme "
                    "prepare`",
                    info.path, position, starts[position], why));
  };
  if (starts[0] != 0) refuse(0, "is not 0 (where the first document begins)");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] >= info.num_tokens) refuse(i, fmt::format("is past the end (there are {} tokens)", info.num_tokens));
    if (i > 0 && starts[i] <= starts[i - 1]) refuse(i, fmt::format("does not ascend (after `{}`)", starts[i - 1]));
  }
}

/// The first token of a document; past the last document: the number of tokens.
std::int64_t TokenFile::Contents::document_start(std::int64_t document) const {
  if (document == info.num_documents) return info.num_tokens;
  std::int64_t start = 0;
  documents->read(document, 1, &start);
  return start;
}

/// The document that holds the token at `position`.
std::int64_t TokenFile::Contents::document_of(std::int64_t position) const {
  std::int64_t low = 0;  // document_start(low) <= position < document_start(high) throughout
  std::int64_t high = info.num_documents;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (document_start(middle) <= position ? low : high) = middle;
  }
  return low;
}

TokenFile::TokenFile(const std::string& path) : contents_(std::make_unique<Contents>(path)) {}
TokenFile::~TokenFile() = default;
const TokenFileInfo& TokenFile::info() const noexcept {
  return contents_->info;
}

void TokenFile::read_tokens(std::int64_t begin, std::span<std::int32_t> tokens) const {
  const HashedArray& stored = *contents_->tokens;
  std::vector<char> bytes(tokens.size() * size_of(stored.dtype()));
  stored.read(begin, static_cast<std::int64_t>(tokens.size()), bytes.data());
  if (stored.dtype() == Dtype::u8) widen<std::uint8_t>(bytes, tokens);
  if (stored.dtype() == Dtype::u16) widen<std::uint16_t>(bytes, tokens);
  if (stored.dtype() == Dtype::i32) widen<std::int32_t>(bytes, tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= info().vocab) {
      throw InputError(
          fmt::format("dataset `tokens` of `{}`, position {}: `{}` is no token (the vocabulary is {}) make "
                      "the file anew with `trireme prepare` and a larger `--vocab`",
                      info().path, begin + static_cast<std::int64_t>(i), tokens[i], info().vocab));
    }
  }
}

void TokenFile::read_loss_mask(std::int64_t begin, std::span<std::uint8_t> mask) const {
  if (!contents_->loss_mask) {
    std::fill(mask.begin(), mask.end(), std::uint8_t{1});
    return;
  }
  contents_->loss_mask->read(begin, static_cast<std::int64_t>(mask.size()), mask.data());
  const auto wrong = std::find_if(mask.begin(), mask.end(), [](std::uint8_t value) { return value > 1; });
  if (wrong != mask.end()) {
    throw InputError(fmt::format(
        "dataset `loss_mask` of `{}`, position {}: `{}` is neither 0 nor 1 (a token counts or not) make the file anew "
        "with `trireme prepare`",
        info().path, begin + (wrong - mask.begin()), *wrong));
  }
}

void TokenFile::read_starts(std::int64_t begin, std::span<std::int64_t> starts) const {
  if (!info().has_sequence_starts || starts.empty()) {
    std::fill(starts.begin(), starts.end(), begin);
    return;
  }
  std::int64_t document = contents_->document_of(begin);
  std::int64_t start = contents_->document_start(document);
  std::int64_t next = contents_->document_start(document + 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t position = begin + static_cast<std::int64_t>(i);
    if (position == next) {
      ++document;
      start = next;
      next = contents_->document_start(document + 1);
    }
    if (next <= start || start > position) {
      throw InputError(
          fmt::format("dataset `documents` of `{}`, position {}: `{}` does not ascend (after `{}`) make the "
                      "file anew with `trireme prepare`",
                      info().path, document + 1, next, start));
    }
    starts[i] = std::max(start, begin);
  }
}

}  // namespace trireme::data
