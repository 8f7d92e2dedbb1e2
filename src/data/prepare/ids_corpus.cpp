#include "data/prepare/ids_corpus.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "data/format.hpp"

namespace trireme::data {
namespace {

constexpr std::int64_t id_bytes = sizeof(std::int32_t);

/// A little-endian integer of a file as a number; those above 2^63 come out negative and so are refused.
std::int64_t number_at(const char* bytes, IdType type) {
  std::int64_t number = 0;
  std::memcpy(&number, bytes, static_cast<std::size_t>(type.bytes));
  const auto unused = static_cast<int>(8 * (8 - type.bytes));
  return type.is_signed ? static_cast<std::int64_t>(static_cast<std::uint64_t>(number) << unused) >> unused : number;
}

}  // namespace

std::unique_ptr<IdsInput> open_ids(const std::string& path) {
  if (path.ends_with(".npy")) return open_npy(path);
  if (path.ends_with(".bin") || path.ends_with(".idx") || io::exists(path + ".idx")) return open_megatron(path);
  throw InputError(
      fmt::format("`{}` holds no ready ids (known are .npy files and Megatron's .bin with .idx) choose the "
                  "tokenizer `byte` or `sentencepiece` for text",
                  path));
}

IdsCorpus::IdsCorpus(const PrepareOptions& options) : vocab_(options.vocab > 0 ? options.vocab : max_vocab) {
  firsts_.push_back(0);
  for (const std::string& path : options.inputs) {
    inputs_.push_back(open_ids(path));
    firsts_.push_back(firsts_.back() + inputs_.back()->num_ids());
  }
  const std::int64_t total = firsts_.back();
  range_ = {place_of_fraction(options.skip_fraction, total),
            place_of_fraction(options.skip_fraction + options.take_fraction, total)};
  const std::int64_t taken = range_.end - range_.begin;
  if (taken == 0) {
    throw InputError(fmt::format("`{}` has no ids to take ({} in all inputs)", options.inputs.front(), total));
  }
  constexpr std::int64_t default_ids = std::int64_t{4} << 20;
  piece_ids_ = options.piece_bytes > 0 ? std::max<std::int64_t>(1, options.piece_bytes / id_bytes) : default_ids;
  num_pieces_ = (taken + piece_ids_ - 1) / piece_ids_;
}

std::int64_t IdsCorpus::num_bytes() const {
  std::int64_t bytes = 0;
  for (const Segment& segment : segments_of(firsts_, range_)) {
    bytes += (segment.range.end - segment.range.begin) * inputs_[segment.file]->type().bytes;
  }
  return bytes;
}

Piece IdsCorpus::read(std::int64_t piece) const {
  const std::int64_t begin = range_.begin + piece * piece_ids_;
  Piece result;
  for (const Segment& segment : segments_of(firsts_, {begin, std::min(range_.end, begin + piece_ids_)})) {
    add_ids(segment, result);
  }
  const bool needs_border = piece == 0 && (result.documents.empty() || result.documents.front() > 0);
  if (needs_border) result.documents.insert(result.documents.begin(), 0);
  return result;
}

void IdsCorpus::add_ids(const Segment& segment, Piece& piece) const {
  const IdsInput& input = *inputs_[segment.file];
  const IdType type = input.type();
  const auto first = static_cast<std::int64_t>(piece.bytes.size());
  for (const std::int64_t start : input.document_starts(segment.range)) {
    piece.documents.push_back(first + (start - segment.range.begin) * id_bytes);
  }
  const std::string stored = input.read(segment.range);
  const std::int64_t count = segment.range.end - segment.range.begin;
  piece.bytes.resize(piece.bytes.size() + static_cast<std::size_t>(count * id_bytes));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t number = number_at(stored.data() + i * type.bytes, type);
    if (number < 0 || number >= vocab_) {
      throw InputError(fmt::format("id {} of `{}` is `{}` (must be 0 ... {}) mend the file or give a larger `--vocab`",
                                   segment.range.begin + i, input.path(), number, vocab_ - 1));
    }
    const auto id = static_cast<std::int32_t>(number);
    std::memcpy(piece.bytes.data() + first + i * id_bytes, &id, sizeof(id));
  }
}

}  // namespace trireme::data
