// The kinds of tokenizers; make_tokenizer() chooses.
#pragma once

#include <memory>
#include <string>

#include "trireme/text/tokenizer.hpp"

namespace trireme::text {

[[nodiscard]] std::unique_ptr<Tokenizer> make_byte_tokenizer();
[[nodiscard]] std::unique_ptr<Tokenizer> make_ids_tokenizer(const std::string& model);
[[nodiscard]] std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const std::string& model);

/// What an id outside of the vocabulary decodes to.
inline constexpr char replacement_character[] = "\xEF\xBF\xBD";

}  // namespace trireme::text
