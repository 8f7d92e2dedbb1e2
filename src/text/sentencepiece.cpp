// The one place that knows the SentencePiece library (Kudo, Richardson, EMNLP 2018).
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "trireme/base/error.hpp"

#include "text/tokenizers.hpp"

namespace trireme::text {
namespace {

/// U+2581, by which the library writes a space inside of pieces.
constexpr std::string_view space_mark = "\xE2\x96\x81";

class SentencePieceTokenizer final : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(std::string model);

  [[nodiscard]] std::string kind() const override { return "sentencepiece"; }
  [[nodiscard]] std::int64_t vocab() const override { return processor_.GetPieceSize(); }
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override;
  [[nodiscard]] std::string decode(const std::vector<std::int32_t>& ids) const override;
  [[nodiscard]] const std::string& model() const override { return model_; }
  [[nodiscard]] Cuts cuts() const override { return faithful_ ? Cuts::after_newlines : Cuts::at_documents; }

 private:
  [[nodiscard]] bool has_all_bytes() const;
  [[nodiscard]] bool has_newline_in_a_piece() const;
  [[nodiscard]] bool adds_dummy_prefix() const;
  [[nodiscard]] bool changes_characters() const;
  [[nodiscard]] std::string text_of(std::int32_t id) const;
  void encode_by_library(std::string_view text, std::vector<std::int32_t>& ids) const;

  std::string model_;
  sentencepiece::SentencePieceProcessor processor_;
  std::array<std::int32_t, 256> byte_ids_{};
  bool dummy_prefix_ = false;
  bool faithful_ = false;  ///< the model changes no character, so encode() can be made to lose nothing
};

SentencePieceTokenizer::SentencePieceTokenizer(std::string model) : model_(std::move(model)) {
  const auto status = processor_.LoadFromSerializedProto(model_);
  if (!status.ok() || processor_.GetPieceSize() == 0) {
    throw InputError(fmt::format("the SentencePiece model cannot be used ({}) take another file", status.ToString()));
  }
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    byte_ids_[byte] = processor_.PieceToId(fmt::format("<0x{:02X}>", byte));
  }
  dummy_prefix_ = adds_dummy_prefix();
  faithful_ = has_all_bytes() && !dummy_prefix_ && !has_newline_in_a_piece() && !changes_characters();
}

bool SentencePieceTokenizer::has_all_bytes() const {
  for (const std::int32_t id : byte_ids_) {
    if (!processor_.IsByte(id)) return false;
  }
  return true;
}

bool SentencePieceTokenizer::has_newline_in_a_piece() const {
  for (int id = 0; id < processor_.GetPieceSize(); ++id) {
    if (processor_.IdToPiece(id).find('\n') != std::string::npos) return true;
  }
  return false;
}

bool SentencePieceTokenizer::adds_dummy_prefix() const {
  std::vector<std::string> pieces;
  const auto status = processor_.Encode("a", &pieces);
  return status.ok() && !pieces.empty() && pieces.front().starts_with(space_mark);
}

/// Tries what normalizations change: outer and repeated spaces, compatibility forms, case, control characters.
bool SentencePieceTokenizer::changes_characters() const {
  const std::string probe = "  A  b\t\r\xEF\xAC\x81 \xE2\x84\xAB e\xCC\x81 \xC2\xA0\xE3\x80\x80\xEF\xBC\xA1\x01 ";
  std::vector<std::int32_t> ids;
  encode_by_library(probe, ids);
  return decode(ids) != probe;
}

void SentencePieceTokenizer::encode_by_library(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (text.empty()) return;
  std::vector<int> found;
  const auto status = processor_.Encode(text, &found);
  if (!status.ok()) throw SystemError(fmt::format("SentencePiece could not encode a text ({})", status.ToString()));
  ids.insert(ids.end(), found.begin(), found.end());
}

/// Newlines, U+2581 and malformed bytes go in as bytes: the library would cut, confuse or replace them.
void SentencePieceTokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (!faithful_) {
    encode_by_library(text, ids);
    return;
  }
  while (!text.empty()) {
    std::string_view run = text.substr(0, text.find('\n'));
    run = run.substr(0, run.find(space_mark));
    run = run.substr(0, valid_utf8_length(run));
    encode_by_library(run, ids);
    text.remove_prefix(run.size());
    if (text.empty()) break;
    const std::size_t num_raw = text.starts_with(space_mark) ? space_mark.size() : 1;
    for (const char byte : text.substr(0, num_raw)) ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    text.remove_prefix(num_raw);
  }
}

std::string SentencePieceTokenizer::text_of(std::int32_t id) const {
  if (id < 0 || id >= processor_.GetPieceSize() || processor_.IsUnknown(id)) return replacement_character;
  if (processor_.IsControl(id)) return {};
  if (const auto byte = std::find(byte_ids_.begin(), byte_ids_.end(), id); byte != byte_ids_.end()) {
    return std::string(1, static_cast<char>(byte - byte_ids_.begin()));
  }
  std::string text;
  for (std::string_view rest = processor_.IdToPiece(id); !rest.empty();) {
    const bool space = rest.starts_with(space_mark);
    text += space ? ' ' : rest.front();
    rest.remove_prefix(space ? space_mark.size() : 1);
  }
  return text;
}

std::string SentencePieceTokenizer::decode(const std::vector<std::int32_t>& ids) const {
  std::string text;
  for (const std::int32_t id : ids) text += text_of(id);
  if (dummy_prefix_ && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

/// Hands lines to the trainer.
class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
  [[nodiscard]] bool done() const override { return next_ == lines_.size(); }
  void Next() override { ++next_; }
  [[nodiscard]] const std::string& value() const override { return lines_[next_]; }
  [[nodiscard]] sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  std::size_t next_ = 0;
};

/// The number after `mark` in the library's words; 0 if there is none.
std::int64_t number_after(const std::string& words, const std::string& mark) {
  const std::size_t at = words.find(mark);
  return at == std::string::npos ? 0 : std::atoll(words.c_str() + at + mark.size());
}

/// What the library says of the sizes that would be legal.
std::string legal_range(const std::string& words) {
  if (const std::int64_t most = number_after(words, "<= "); most > 0) {
    return fmt::format("choose `--vocab` of at most {}, or more text", most);
  }
  if (const std::int64_t least = number_after(words, " vs "); least > 0) {
    return fmt::format("choose `--vocab` of at least {}: 1 for unknown, 256 for bytes, {} for characters of this text",
                       least, least - 257);
  }
  return "use other text or another `--vocab`";
}

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const std::string& model) {
  return std::make_unique<SentencePieceTokenizer>(model);
}

std::string train_sentencepiece(const std::vector<std::string>& lines, std::int64_t vocab) {
  constexpr std::int64_t least = 258;  // unknown, 256 bytes, one character
  constexpr std::int64_t most = 1 << 24;
  if (vocab < least || vocab > most) {
    throw InputError(
        fmt::format("`--vocab {}` is outside of {} ... {} (a SentencePiece vocabulary holds 256 byte pieces, "
                    "the characters of the text and their merges)",
                    vocab, least, most));
  }
  Lines source(lines);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"vocab_size", std::to_string(vocab)},
                                                                  {"model_type", "bpe"},
                                                                  {"byte_fallback", "true"},
                                                                  {"normalization_rule_name", "identity"},
                                                                  {"remove_extra_whitespaces", "false"},
                                                                  {"add_dummy_prefix", "false"},
                                                                  {"allow_whitespace_only_pieces", "true"},
                                                                  {"unk_id", "0"},
                                                                  {"bos_id", "-1"},
                                                                  {"eos_id", "-1"},
                                                                  {"pad_id", "-1"},
                                                                  {"num_threads", "1"},
                                                                  {"max_sentence_length", "65536"},
                                                                  {"self_test_sample_size", "0"},
                                                                  {"minloglevel", "3"}},
                                                                 &source, &model);
  if (!status.ok()) {
    throw InputError(fmt::format("a SentencePiece vocabulary of {} pieces cannot be made from this text ({}) {}", vocab,
                                 status.ToString(), legal_range(status.ToString())));
  }
  return model;
}

}  // namespace trireme::text
