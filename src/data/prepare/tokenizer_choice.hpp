#pragma once

#include <string>
#include <vector>

#include "data/prepare/text_corpus.hpp"

namespace trireme::data {

/// The SentencePiece model in a file: a model as the library writes it, or that of a dataset. Throws InputError.
[[nodiscard]] std::string load_sentencepiece_model(const std::string& path);

/// Lines of the corpus to train a tokenizer on: all of them, or evenly spread pieces of about `most_bytes` in sum.
[[nodiscard]] std::vector<std::string> training_lines(const TextCorpus& corpus, std::int64_t most_bytes);

}  // namespace trireme::data
