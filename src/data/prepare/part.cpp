#include "data/prepare/part.hpp"

#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

namespace trireme::data {
namespace {

/// The head of a part file; tokens and documents follow.
struct Head {
  std::uint64_t magic = 0x3254524150525254;  // "TRRPART2"
  std::int64_t num_tokens = 0;
  std::int64_t token_bytes = 0;
  std::int64_t num_documents = 0;
  io::Hash128 origin;
  io::Hash128 hash;  ///< of head (without it) and content
};

io::Hash128 hash_of(Head head, std::string_view content) {
  head.hash = {};
  io::Hasher hasher;
  hasher.add(&head, sizeof(head));
  hasher.add(content.data(), content.size());
  return hasher.value();
}

template <class Stored>
void append(std::span<const std::int32_t> ids, std::string& tokens) {
  const std::size_t begin = tokens.size();
  tokens.resize(begin + ids.size() * sizeof(Stored));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto stored = static_cast<Stored>(ids[i]);
    std::memcpy(tokens.data() + begin + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

void add_tokens(std::span<const std::int32_t> ids, Dtype dtype, Part& part) {
  if (dtype == Dtype::u8) append<std::uint8_t>(ids, part.tokens);
  if (dtype == Dtype::u16) append<std::uint16_t>(ids, part.tokens);
  if (dtype == Dtype::i32) append<std::int32_t>(ids, part.tokens);
  part.num_tokens += static_cast<std::int64_t>(ids.size());
}

/// Fills `values` from as many bytes; memcpy must not see the null pointer of an empty vector.
template <class T>
void copy_bytes(std::string_view bytes, std::vector<T>& values) {
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
}

std::optional<Head> head_of(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof(Head)) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof(Head));
  if (head.magic != Head{}.magic) return std::nullopt;
  return head;
}

/// The head of a whole part; empty if anything is amiss.
std::optional<Head> checked_head(std::string_view bytes) {
  const auto head = head_of(bytes);
  if (!head) return std::nullopt;
  const std::string_view content = bytes.substr(sizeof(Head));
  const auto bytes_of_documents = static_cast<std::uint64_t>(head->num_documents) * sizeof(std::int64_t);
  if (static_cast<std::uint64_t>(head->token_bytes) + bytes_of_documents != content.size()) return std::nullopt;
  if (hash_of(*head, content) != head->hash) return std::nullopt;
  return head;
}

}  // namespace

Part tokenize(const Piece& piece, const text::Tokenizer& tokenizer, Dtype dtype) {
  constexpr std::size_t run_bytes = std::size_t{1} << 20;
  Part part;
  std::vector<std::int32_t> ids;
  const auto encode = [&](std::string_view text) {
    ids.clear();
    tokenizer.encode(text, ids);
    add_tokens(ids, dtype, part);
  };
  const std::string_view text = piece.bytes;
  for (std::size_t d = 0; d <= piece.documents.size(); ++d) {  // number 0 goes on from the piece before
    const std::size_t begin = d == 0 ? 0 : static_cast<std::size_t>(piece.documents[d - 1]);
    const std::size_t end = d < piece.documents.size() ? static_cast<std::size_t>(piece.documents[d]) : text.size();
    const std::int64_t first = part.num_tokens;
    std::string_view document = text.substr(begin, end - begin);
    while (document.size() > run_bytes && tokenizer.cuts() == text::Cuts::at_characters) {  // bounds the ids in memory
      encode(document.substr(0, run_bytes));
      document.remove_prefix(run_bytes);
    }
    encode(document);
    if (d > 0 && part.num_tokens > first) part.documents.push_back(first);
  }
  return part;
}

Part narrow_ids(const Piece& piece, Dtype dtype) {
  constexpr auto id_bytes = sizeof(std::int32_t);
  std::vector<std::int32_t> ids(piece.bytes.size() / id_bytes);
  copy_bytes(piece.bytes, ids);
  Part part;
  add_tokens(ids, dtype, part);
  for (const std::int64_t offset : piece.documents) part.documents.push_back(offset / std::int64_t{id_bytes});
  return part;
}

void write_part(const std::string& path, const Part& part, const io::Hash128& origin) {
  std::string content = part.tokens;
  content.append(reinterpret_cast<const char*>(part.documents.data()), part.documents.size() * sizeof(std::int64_t));
  Head head;
  head.num_tokens = part.num_tokens;
  head.token_bytes = static_cast<std::int64_t>(part.tokens.size());
  head.num_documents = static_cast<std::int64_t>(part.documents.size());
  head.origin = origin;
  head.hash = hash_of(head, content);
  content.insert(0, reinterpret_cast<const char*>(&head), sizeof(head));
  io::write_text_atomically(path, content);
}

bool is_part(const std::string& path, const io::Hash128& origin) {
  if (!io::exists(path)) return false;
  const auto head = checked_head(io::read_text(path));
  return head && head->origin == origin;
}

Part read_part(const std::string& path) {
  const std::string bytes = io::read_text(path);
  const auto head = checked_head(bytes);
  if (!head) {
    throw InputError(
        fmt::format("part `{}` is damaged (its hash is not the stored one) remove it and start again", path));
  }
  Part part;
  part.num_tokens = head->num_tokens;
  part.tokens = bytes.substr(sizeof(Head), static_cast<std::size_t>(head->token_bytes));
  part.documents.resize(static_cast<std::size_t>(head->num_documents));
  copy_bytes(std::string_view(bytes).substr(sizeof(Head) + part.tokens.size()), part.documents);
  return part;
}

PartCounts read_part_counts(const std::string& path) {
  std::string bytes(sizeof(Head), '\0');
  io::File(path, io::File::Mode::read).read_at(0, bytes.data(), bytes.size());
  const auto head = head_of(bytes);
  if (!head)
    throw InputError(
        fmt::format("`{}` is no part of a dataset (it does not begin like one) remove it and start again", path));
  return {head->num_tokens, head->num_documents};
}

}  // namespace trireme::data
