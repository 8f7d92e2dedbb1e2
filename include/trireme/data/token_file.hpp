// One dataset file: tokens in HDF5, documented in src/data/FORMAT.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace trireme::data {

/// What the header of a dataset says; every size was checked against the file when it was opened.
struct TokenFileInfo {
  std::string path;
  std::int64_t num_tokens = 0;
  std::int64_t vocab = 0;
  std::int64_t num_documents = 0;
  bool has_loss_mask = false;
  bool has_sequence_starts = false;
  std::string tokenizer_kind;
  std::string tokenizer_model;
};

/// Throws InputError when ids of `other` mean something else than those of `first`: another tokenizer, or another model
/// of it. What ready ids mean only their maker knows. A checkpoint may stand for a file: its path and its tokenizer.
void check_same_tokenizer(const TokenFileInfo& first, const TokenFileInfo& other);

/// A dataset open for reading. After the constructor no HDF5 call is made: reads are plain reads at known offsets, so
/// any thread may read. The hash of each block is checked when the block is first touched.
/// Errors are InputError naming file, dataset, position, value and remedy.
class TokenFile {
 public:
  explicit TokenFile(const std::string& path);
  ~TokenFile();
  [[nodiscard]] const TokenFileInfo& info() const noexcept;

  /// Tokens [begin, begin + tokens.size()), each checked against the vocabulary.
  void read_tokens(std::int64_t begin, std::span<std::int32_t> tokens) const;
  /// Loss mask of the same range: 1 counted, 0 not; all ones without a mask.
  void read_loss_mask(std::int64_t begin, std::span<std::uint8_t> mask) const;
  /// For each position of the range, the position where its document (or packed sequence) begins; clipped to `begin`.
  /// All `begin` unless the file has sequence starts.
  void read_starts(std::int64_t begin, std::span<std::int64_t> starts) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace trireme::data
