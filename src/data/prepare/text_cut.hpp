// Where a text may be cut into pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "trireme/text/tokenizer.hpp"

namespace trireme::data {

/// A legal place to cut.
struct TextCut {
  std::size_t position = 0;
  bool starts_document = false;  ///< the separator of documents ends here, or the file
};

/// A window of a file.
struct TextWindow {
  std::string_view text;
  bool at_file_begin = false;
  bool at_file_end = false;
};

/// The first legal cut at or after `nominal` (1 <= nominal <= text.size()): never inside of a separator, where
/// separators are found from the file's begin on, each after the end of the one before; between characters, after a
/// newline, or after a document, as `cuts` says. An empty separator is none. The answer does not depend on the window;
/// empty if the window is too small to tell.
[[nodiscard]] std::optional<TextCut> find_cut(const TextWindow& window, std::size_t nominal, std::string_view separator,
                                              text::Cuts cuts);

}  // namespace trireme::data
