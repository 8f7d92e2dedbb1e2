// A smallest deck, and what the reader says of a wrong one.
#pragma once

#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/config/deck.hpp"

namespace trireme::config {

inline const std::string smallest =
    "[run]\n"                // 1
    "output = \"runs/a\"\n"  // 2
    "steps = 10\n"           // 3
    "[data]\n"               // 4
    "train = [\"a.h5\"]\n"   // 5
    "[batch]\n"              // 6
    "global = 8\n"           // 7
    "[model]\n"              // 8
    "layers = 2\n"           // 9
    "width = 32\n"           // 10
    "heads = 4\n"            // 11
    "context = 16\n";        // 12; further lines belong to [model]

inline Deck deck_of(const std::string& further = "", const std::vector<std::string>& overrides = {}) {
  return parse_deck(smallest + further, "d.toml", overrides);
}

/// The lines of the InputError for a text; empty when the deck is right.
inline std::string problems_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    static_cast<void>(parse_deck(text, "d.toml", overrides));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// The same for the smallest deck with further lines.
inline std::string problems_after(const std::string& further, const std::vector<std::string>& overrides = {}) {
  return problems_of(smallest + further, overrides);
}

}  // namespace trireme::config
