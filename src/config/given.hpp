// What the user wrote: the deck's text and the command line's overrides as a list of values with their places.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/option.hpp"
#include "config/problems.hpp"

namespace trireme::config {

struct Given {
  std::string section;         ///< empty: stands before any section
  std::string name;            ///< empty: a section without options
  std::string where;           ///< `deck.toml:12` or `command line`
  int line = 0;                ///< as in Problem
  std::string text;            ///< the value as written
  std::optional<Value> value;  ///< empty: a kind that no option has
  std::string kind;            ///< `an integer`, `a date`, ...

  [[nodiscard]] bool on_command_line() const { return line == command_line_order; }
  [[nodiscard]] std::string key() const { return section.empty() ? name : section + "." + name; }
  [[nodiscard]] Problem problem(std::string what) const;
};

/// Reads the deck's text. Repeated keys are added to `problems`; where the text is no TOML, throws them all at once.
[[nodiscard]] std::vector<Given> read_text(const std::string& text, const std::string& name, Problems& problems);

/// Reads `section.key=value` words; malformed and repeated ones are added to `problems`.
[[nodiscard]] std::vector<Given> read_overrides(const std::vector<std::string>& overrides, Problems& problems);

/// True if the text is UTF-8, as TOML must be.
[[nodiscard]] bool is_utf8(const std::string& text);

/// Without blanks at both ends.
[[nodiscard]] std::string trimmed(const std::string& text);

}  // namespace trireme::config
