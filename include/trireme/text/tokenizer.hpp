// From text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::text {

/// Where a text may be cut so that the ids of its parts, one after the other, are the ids of the whole.
enum class Cuts : std::uint8_t { at_characters, after_newlines, at_documents };

/// A tokenizer, and its description, which travels inside datasets and checkpoints.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// `byte`, `sentencepiece` or `ids`.
  [[nodiscard]] virtual std::string kind() const = 0;
  [[nodiscard]] virtual std::int64_t vocab() const = 0;
  /// Appends the ids of `text`.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) const = 0;
  /// The text of the ids; ids outside of the vocabulary (a model may be padded) give U+FFFD.
  [[nodiscard]] virtual std::string decode(const std::vector<std::int32_t>& ids) const = 0;
  /// The bytes that make_tokenizer() needs to build it again (the model file; empty for `byte`).
  [[nodiscard]] virtual const std::string& model() const = 0;
  [[nodiscard]] virtual Cuts cuts() const = 0;
};

/// kind `byte`: exactly 256 ids, one a byte. kind `sentencepiece`: `model` is a serialized SentencePiece model.
/// kind `ids`: ready ids; text is decimal numbers separated by white space; model is the vocabulary size in decimal.
/// Throws InputError for an unknown kind, a damaged model, or a build without SentencePiece.
///
/// A SentencePiece model that changes no character (as those of train_sentencepiece()) loses nothing: decode(encode(x))
/// is x for any bytes. Others (with normalization, a dummy prefix, no byte pieces) do to the text what they were
/// trained to do.
[[nodiscard]] std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, const std::string& model);

/// Trains a SentencePiece BPE model of `vocab` pieces with byte fallback on lines of text (without their newlines; cut
/// long ones: the trainer leaves out lines above 64 KiB); returns the serialized model. Equal lines give equal models.
/// Throws InputError with the legal range when the text is too small or too rich for `vocab`.
[[nodiscard]] std::string train_sentencepiece(const std::vector<std::string>& lines, std::int64_t vocab);

/// Bytes of the longest leading part of `text` that is valid UTF-8 (no overlong forms, surrogates or code points above
/// U+10FFFF).
[[nodiscard]] std::size_t valid_utf8_length(std::string_view text);

}  // namespace trireme::text
