#include "data/prepare/tokenizer_choice.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/data/token_file.hpp"

#include "data/input_file.hpp"

namespace trireme::data {
namespace {

/// Appends a line, cut into pieces that the trainer takes, between characters.
void add_line(std::string_view line, std::vector<std::string>& lines) {
  constexpr std::size_t most = 4096;
  while (!line.empty()) {
    const std::size_t valid = text::valid_utf8_length(line.substr(0, most));
    const std::size_t length = valid > 0 ? valid : std::min(line.size(), most);
    lines.emplace_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

void add_lines(std::string_view text, std::vector<std::string>& lines) {
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    add_line(text.substr(0, length), lines);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

}  // namespace

std::string load_sentencepiece_model(const std::string& path) {
  if (!is_trireme_file(open_input(path))) return io::read_text(path);
  const TokenFileInfo info = TokenFile(path).info();
  if (info.tokenizer_kind != "sentencepiece") {
    throw InputError(
        fmt::format("dataset `{}` has the tokenizer `{}` (a SentencePiece model was expected) name another file, "
                    "or use its tokenizer",
                    path, info.tokenizer_kind));
  }
  return info.tokenizer_model;
}

std::vector<std::string> training_lines(const TextCorpus& corpus, std::int64_t most_bytes) {
  const std::int64_t wanted = std::max<std::int64_t>(1, most_bytes / corpus.piece_bytes());
  const std::int64_t stride = (corpus.num_pieces() + wanted - 1) / wanted;
  std::vector<std::string> lines;
  for (std::int64_t number = 0; number < corpus.num_pieces(); number += stride) {
    const Piece piece = corpus.read(number);
    const std::string_view text = piece.bytes;
    for (std::size_t d = 0; d <= piece.documents.size(); ++d) {
      const auto begin = d == 0 ? 0 : static_cast<std::size_t>(piece.documents[d - 1]);
      const auto end = d < piece.documents.size() ? static_cast<std::size_t>(piece.documents[d]) : text.size();
      add_lines(text.substr(begin, end - begin), lines);
    }
  }
  return lines;
}

}  // namespace trireme::data
