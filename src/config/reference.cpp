#include <algorithm>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"

#include "config/options.hpp"

namespace trireme::config {
namespace {

std::string default_text(const Option& option) {
  return option.required ? "must be given" : text_of(option.place.get(Deck{}));
}

std::string bare_type(const Option& option) {
  const std::string name = name_of(option.place.type);
  return name.substr(name.find(' ') + 1);
}

std::string resume_text(const Option& option) {
  return option.resume == Resume::refused ? "refused" : "free";
}

/// What this version lacks; empty when it has all.
std::string limit_text(const Option& option) {
  if (option.only.empty()) return {};
  std::vector<std::string> values;
  for (const Value& value : option.only) values.push_back(text_of(value));
  return fmt::format(" Only {} for now: {}.", join(values, " or "), option.why_only);
}

std::string code(const std::string& text) {
  return text.empty() ? text : "`" + text + "`";
}

std::string table_of(const Section& section) {
  std::string page = fmt::format("\n## {}\n\n{}\n\n", section.name, section.sentence);
  page += "| option | type | unit | default | range | meaning | on resume | owner |\n";
  page += "|---|---|---|---|---|---|---|---|\n";
  for (const Option& option : section.options) {
    page +=
        fmt::format("| {} | {} | {} | {} | {} | {}{} | {} | {} |\n", code(option.key), bare_type(option), option.unit,
                    option.required ? default_text(option) : code(default_text(option)), code(option.range_text()),
                    option.sentence, limit_text(option), resume_text(option), option.owner);
  }
  return page;
}

std::string help_text(const Option& option) {
  std::string text =
      fmt::format("  {}\n      {}{}\n      {}", option.key, option.sentence, limit_text(option), bare_type(option));
  if (!option.unit.empty()) text += fmt::format(", unit: {}", option.unit);
  text += fmt::format(", default: {}", default_text(option));
  if (!option.range_text().empty()) text += fmt::format(", range: {}", option.range_text());
  if (option.resume == Resume::refused) text += ", may not change on resume";
  return text + "\n";
}

}  // namespace

std::string reference_page() {
  std::string page =
      "# The options of a deck\n\n"
      "Made from the option table by the program; do not edit. A deck is TOML; on the command line an option is\n"
      "`section.key=value` with a TOML value, e.g. `run.steps=100` or `'data.train=[\"a.h5\", \"b.h5\"]'`, and "
      "replaces the\n"
      "deck's. Options that take a string also take a bare word there (`run.resume=never`), since shells eat quotes.\n"
      "\"On resume\" says whether a checkpoint is refused when the deck has another value than the one it was saved "
      "with.\n";
  for (const Section& section : sections()) page += table_of(section);
  return page;
}

std::string help_of(const std::string& section) {
  if (const Option* option = find_option(section)) return help_text(*option);
  const auto found = std::find_if(sections().begin(), sections().end(),
                                  [&](const Section& candidate) { return candidate.name == section; });
  if (found == sections().end()) {
    const std::string near = nearest(section, section_names());
    throw InputError(fmt::format("`{}` is no section of a deck (there are {}){}", section, join(section_names()),
                                 near.empty() ? "" : fmt::format(" did you mean `{}`?", near)));
  }
  std::string text = fmt::format("[{}] {}\n\n", found->name, found->sentence);
  for (const Option& option : found->options) text += help_text(option);
  return text;
}

}  // namespace trireme::config
