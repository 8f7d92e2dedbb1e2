#include <map>

#include <fmt/format.h>

#include "config/given.hpp"
#include "config/toml_node.hpp"

namespace trireme::config {
namespace {

Problem malformed(const std::string& word) {
  return {"command line", command_line_order, word,
          "no override (it must be `section.key=value`) write e.g. `run.steps=100`"};
}

/// A value alone; what is no TOML stays without a value, as a bare word.
void take_text(Given& given) {
  given.kind = "a bare word";
  if (given.text.find('\n') != std::string::npos) return;
  try {
    const std::string line = "value = " + given.text;
    const toml::table table = toml::parse(std::string_view(line), std::string_view("command line"));
    take_value(*table.get("value"), given);
  } catch (const toml::parse_error&) {
    given.value.reset();
  }
}

}  // namespace

std::vector<Given> read_overrides(const std::vector<std::string>& overrides, Problems& problems) {
  std::vector<Given> all;
  std::map<std::string, std::string> first;
  for (const std::string& word : overrides) {
    const std::size_t equals = word.find('=');
    const std::string key = trimmed(word.substr(0, equals));
    const std::size_t dot = key.find('.');
    if (equals == std::string::npos || key.empty() || key.back() == '.') {
      problems.add(malformed(word));
      continue;
    }
    Given given;
    given.section = dot == std::string::npos ? "" : key.substr(0, dot);
    given.name = dot == std::string::npos ? key : key.substr(dot + 1);
    given.where = "command line";
    given.line = command_line_order;
    given.text = trimmed(word.substr(equals + 1));
    take_text(given);
    const auto [earlier, is_new] = first.try_emplace(key, given.text);
    if (is_new) {
      all.push_back(std::move(given));
    } else {
      problems.add(given.problem(
          fmt::format("repeated key (the command line also has `{}`) keep one of them", earlier->second)));
      problems.doubt(key);
    }
  }
  return all;
}

}  // namespace trireme::config
