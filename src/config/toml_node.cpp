#include "config/toml_node.hpp"

#include <algorithm>

namespace trireme::config {
namespace {

template <class T>
std::vector<T> elements(const toml::array& array) {
  std::vector<T> out;
  for (const toml::node& node : array) out.push_back(*node.value<T>());
  return out;
}

bool all_of(const toml::array& array, bool (*is)(const toml::node&)) {
  return std::all_of(array.begin(), array.end(), is);
}

void take_list(const toml::array& array, Given& given) {
  if (all_of(array, [](const toml::node& node) { return node.is_string(); })) {
    given.kind = array.empty() ? "an empty list" : "a list of strings";
    given.value = elements<std::string>(array);
  } else if (all_of(array, [](const toml::node& node) { return node.is_integer(); })) {
    given.kind = "a list of integers";
    given.value = elements<std::int64_t>(array);
  } else if (all_of(array, [](const toml::node& node) { return node.is_number(); })) {
    given.kind = "a list of numbers";
    given.value = elements<double>(array);
  } else {
    given.kind = "a mixed list";
  }
}

}  // namespace

void take_value(const toml::node& node, Given& given) {
  switch (node.type()) {
    case toml::node_type::boolean:
      given.kind = "a boolean";
      given.value = *node.value<bool>();
      return;
    case toml::node_type::integer:
      given.kind = "an integer";
      given.value = *node.value<std::int64_t>();
      return;
    case toml::node_type::floating_point:
      given.kind = "a float";
      given.value = *node.value<double>();
      return;
    case toml::node_type::string:
      given.kind = "a string";
      given.value = *node.value<std::string>();
      return;
    case toml::node_type::array:
      take_list(*node.as_array(), given);
      return;
    case toml::node_type::table:
      given.kind = "a table";
      return;
    default:
      given.kind = "a date or time";
      return;
  }
}

std::string words_of(const toml::parse_error& error) {
  const std::string preamble = "Error while parsing ";
  std::string words(error.description());
  if (words.starts_with(preamble)) words.erase(0, preamble.size());
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

bool is_utf8(const std::string& text) {
  try {
    return !toml::parse(std::string_view("text = " + text_of(Value(text)))).empty();
  } catch (const toml::parse_error&) {
    return false;
  }
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace trireme::config
