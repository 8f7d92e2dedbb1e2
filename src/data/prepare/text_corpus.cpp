#include "data/prepare/text_corpus.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "data/input_file.hpp"

namespace trireme::data {
namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20;

/// Some 64 pieces, so that many ranks find work, of a size that any memory holds.
std::int64_t choose_piece_bytes(std::int64_t total) {
  return std::clamp(total / 64, mebi, 32 * mebi);
}

}  // namespace

TextCorpus::TextCorpus(const PrepareOptions& options, text::Cuts cuts, bool must_be_utf8)
    : separator_(options.document_separator), cuts_(cuts), must_be_utf8_(must_be_utf8) {
  firsts_.push_back(0);
  for (const std::string& path : options.inputs) {
    files_.push_back(open_input(path));
    firsts_.push_back(firsts_.back() + static_cast<std::int64_t>(files_.back().size()));
  }
  const std::int64_t total = firsts_.back();
  if (total == 0) throw InputError(fmt::format("`{}` is empty (there is no text to tokenize)", options.inputs.front()));

  const auto place = [&](double fraction) {
    return cut_at(place_of_fraction(fraction, total), text::Cuts::at_characters).position;
  };
  range_ = {place(options.skip_fraction), place(options.skip_fraction + options.take_fraction)};
  if (num_bytes() == 0) {
    throw InputError(
        fmt::format("nothing is left of {} bytes of text (the part from `{}` of `{}` is empty) use more text", total,
                    options.skip_fraction, options.take_fraction));
  }
  piece_bytes_ = options.piece_bytes > 0 ? options.piece_bytes : choose_piece_bytes(num_bytes());
  num_pieces_ = (num_bytes() + piece_bytes_ - 1) / piece_bytes_;
}

/// The first legal cut at or after `nominal`. The window grows until it holds the answer.
TextCorpus::Cut TextCorpus::cut_at(std::int64_t nominal, text::Cuts cuts) const {
  const auto segments = segments_of(firsts_, {nominal, nominal + 1});
  if (segments.empty()) return {firsts_.back(), true};
  const std::size_t file = segments.front().file;
  const std::int64_t place = segments.front().range.begin;
  if (place == 0) return {nominal, true};
  const std::int64_t file_bytes = firsts_[file + 1] - firsts_[file];
  for (std::int64_t reach = 4096;; reach *= 2) {
    const Range seen{std::max<std::int64_t>(0, place - reach), std::min(file_bytes, place + reach)};
    const std::string text = read_segment({file, seen});
    const TextWindow window{text, seen.begin == 0, seen.end == file_bytes};
    if (const auto cut = find_cut(window, static_cast<std::size_t>(place - seen.begin), separator_, cuts)) {
      return {firsts_[file] + seen.begin + static_cast<std::int64_t>(cut->position), cut->starts_document};
    }
  }
}

/// Where piece number `piece` begins.
TextCorpus::Cut TextCorpus::border(std::int64_t piece) const {
  if (piece == 0) return {range_.begin, true};
  if (piece == num_pieces_) return {range_.end, true};
  const Cut cut = cut_at(range_.begin + piece * piece_bytes_, cuts_);
  return cut.position < range_.end ? cut : Cut{range_.end, true};
}

Piece TextCorpus::read(std::int64_t piece) const {
  const Cut begin = border(piece);
  Piece result;
  for (const Segment& segment : segments_of(firsts_, {begin.position, border(piece + 1).position})) {
    const std::string text = read_segment(segment);
    const std::size_t valid = must_be_utf8_ ? text::valid_utf8_length(text) : text.size();
    if (valid < text.size()) {
      throw InputError(
          fmt::format("`{}` is not UTF-8 at byte {} (found 0x{:x}) convert the file, for example with `iconv -t UTF-8`",
                      files_[segment.file].path(), segment.range.begin + static_cast<std::int64_t>(valid),
                      static_cast<unsigned>(static_cast<unsigned char>(text[valid]))));
    }
    const bool is_first = firsts_[segment.file] + segment.range.begin == begin.position;
    add_documents(text, segment.range.begin == 0 || (is_first && begin.starts_document), result);
  }
  return result;
}

std::string TextCorpus::read_segment(const Segment& segment) const {
  std::string text(static_cast<std::size_t>(segment.range.end - segment.range.begin), '\0');
  files_[segment.file].read_at(static_cast<std::uint64_t>(segment.range.begin), text.data(), text.size());
  return text;
}

/// Appends the documents of `text` without separators; empty documents leave no trace.
void TextCorpus::add_documents(std::string_view text, bool starts_document, Piece& piece) const {
  while (!text.empty()) {
    const std::size_t end = separator_.empty() ? std::string_view::npos : text.find(separator_);
    const std::string_view document = text.substr(0, end);
    if (!document.empty() && starts_document) piece.documents.push_back(static_cast<std::int64_t>(piece.bytes.size()));
    piece.bytes += document;
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + separator_.size());
    starts_document = true;
  }
}

}  // namespace trireme::data
