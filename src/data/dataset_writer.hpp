// Writes one dataset file piece by piece; FORMAT.md describes it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trireme/data/token_file.hpp"

namespace trireme::data {

class DatasetWriter {
 public:
  /// Creates the file info.path; the counts of `info` say what will be added.
  explicit DatasetWriter(const TokenFileInfo& info);
  ~DatasetWriter();

  /// Appends tokens as they are stored: num elements of token_dtype(info.vocab).
  void add_tokens(const void* tokens, std::int64_t num);
  /// Appends first tokens of documents.
  void add_documents(std::span<const std::int64_t> starts);
  void add_loss_mask(std::span<const std::uint8_t> mask);

  /// Writes hashes and attributes and makes the file durable. All that the counts announced must have been added.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::data
