// From text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::text {

/// A tokenizer, and its description, which travels inside datasets and checkpoints.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// `byte`, `sentencepiece` or `ids`.
  [[nodiscard]] virtual std::string kind() const = 0;
  [[nodiscard]] virtual std::int64_t vocab() const = 0;
  /// Appends the ids of `text`.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) const = 0;
  [[nodiscard]] virtual std::string decode(const std::vector<std::int32_t>& ids) const = 0;
  /// The bytes that make_tokenizer() needs to build it again (the model file; empty for `byte`).
  [[nodiscard]] virtual const std::string& model() const = 0;
};

/// kind `byte`: exactly 256 ids, one a byte. kind `sentencepiece`: `model` is a serialized SentencePiece model.
/// kind `ids`: ready ids; text is decimal numbers separated by white space; model is the vocabulary size in decimal.
/// Throws InputError for an unknown kind, a damaged model, or a build without SentencePiece.
[[nodiscard]] std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, const std::string& model);

/// Trains a SentencePiece BPE model of `vocab` pieces with byte fallback on text files; returns the serialized model.
[[nodiscard]] std::string train_sentencepiece(const std::vector<std::string>& paths, std::int64_t vocab);

}  // namespace trireme::text
