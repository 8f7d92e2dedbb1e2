// Small dataset files for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/data/token_file.hpp"

#include "data/dataset_writer.hpp"

namespace trireme::test {

/// What a dataset file holds; vocab 65536 stores uint16.
struct Content {
  std::vector<std::uint16_t> tokens;
  std::vector<std::int64_t> documents{0};
  std::vector<std::uint8_t> loss_mask;  ///< empty: none
  bool sequence_starts = false;
};

/// Writes tokens of the vocabulary 65536.
inline void write_dataset(const std::string& path, const Content& content) {
  data::TokenFileInfo info;
  info.path = path;
  info.num_tokens = static_cast<std::int64_t>(content.tokens.size());
  info.vocab = 65536;
  info.num_documents = static_cast<std::int64_t>(content.documents.size());
  info.has_loss_mask = !content.loss_mask.empty();
  info.has_sequence_starts = content.sequence_starts;
  info.tokenizer_kind = "ids";
  info.tokenizer_model = "65536";
  data::DatasetWriter writer(info);
  writer.add_tokens(content.tokens.data(), info.num_tokens);
  writer.add_documents(content.documents);
  if (info.has_loss_mask) writer.add_loss_mask(content.loss_mask);
  writer.finish();
}

/// Tokens first, first + 1, ... so that a token tells its place.
inline std::vector<std::uint16_t> counting(std::int64_t num, std::uint16_t first = 0) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(num));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// A file of just so many samples.
inline void write_samples(const std::string& path, std::int64_t num_samples, std::int64_t context,
                          std::uint16_t first = 0) {
  write_dataset(path, {.tokens = counting(num_samples * context + 1, first)});
}

/// The text of the InputError that `work` throws.
inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace trireme::test
