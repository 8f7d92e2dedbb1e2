#include "config/accept.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "trireme/base/text.hpp"

namespace trireme::config {
namespace {

std::string backticked(const std::vector<std::string>& words, std::string_view separator) {
  std::vector<std::string> out;
  for (const std::string& word : words) out.push_back("`" + word + "`");
  return join(out, separator);
}

std::vector<std::string> names_in(const std::string& section) {
  std::vector<std::string> names;
  for (const std::string& key : all_keys()) {
    const Option& option = *find_option(key);
    if (section.empty() || option.section() == section) names.push_back(option.name());
  }
  return names;
}

/// The key that a misspelt name may stand for, first in `section`, then in all; empty when none is near.
std::string nearest_key(const std::string& section, const std::string& name) {
  const std::string here = nearest(name, names_in(section));
  if (!here.empty()) return section + "." + here;
  const std::string elsewhere = nearest(name, names_in(""));
  return elsewhere.empty() ? "" : sections_with(elsewhere).front() + "." + elsewhere;
}

std::string key_without_section(const std::string& name) {
  const std::vector<std::string> homes = sections_with(name);
  if (!homes.empty()) return fmt::format("misplaced key (it stands in no section) write it under [{}]", homes.front());
  const std::vector<std::string> sections = section_names();
  if (std::find(sections.begin(), sections.end(), name) != sections.end()) {
    return fmt::format("misplaced key (it is the name of a section) write [{}] and its options below", name);
  }
  return "unknown key (it stands in no section) write it under its [section]";
}

/// Why no option has this key, and what may be meant.
std::string unknown_key(const Given& given) {
  if (given.section.empty()) return key_without_section(given.name);
  const std::vector<std::string> homes = sections_with(given.name);
  if (!homes.empty()) {
    return fmt::format("misplaced key (`{}` belongs to {}) write it under [{}]", given.name, backticked(homes, " and "),
                       homes.front());
  }
  const std::string section = nearest(given.section, section_names());
  const std::string why = section == given.section ? fmt::format("section `{}` has no such option", section)
                                                   : fmt::format("there is no section `{}`", given.section);
  const std::string near = section.empty() ? "" : nearest_key(section, given.name);
  if (!near.empty()) return fmt::format("unknown key ({}) did you mean `{}`?", why, near);
  if (section.empty()) return fmt::format("unknown key ({}) there are {}", why, join(section_names()));
  return fmt::format("unknown key ({}) see `trireme help {}`", why, section);
}

/// True for what the command line gives as TOML, not as a bare word, to an option that takes both.
bool stands_for_itself(const Given& given, Type type) {
  if (!given.value) return false;
  switch (type) {
    case Type::boolean_or_choice:
      return std::holds_alternative<bool>(*given.value);
    case Type::integer_or_choice:
    case Type::number_or_choice:
      return std::holds_alternative<std::int64_t>(*given.value) || std::holds_alternative<double>(*given.value);
    default:
      return false;
  }
}

/// The value in the option's own type, where TOML's type can stand for it.
std::optional<Value> converted(const Given& given, const Option& option) {
  const Type type = option.place.type;
  if (given.on_command_line() && takes_bare_words(type) && is_utf8(given.text)) {
    const bool is_bare = given.kind != "a string" && !given.text.empty() &&
                         std::string("\"'[{").find(given.text.front()) == std::string::npos;
    if (is_bare && !stands_for_itself(given, type)) return Value(given.text);
  }
  if (!given.value) return std::nullopt;
  const Value& value = *given.value;
  const bool is_empty_list = given.kind == "an empty list";
  const auto keep_if = [&](bool fits) { return fits ? given.value : std::nullopt; };
  switch (type) {
    case Type::boolean:
      return keep_if(std::holds_alternative<bool>(value));
    case Type::integer:
      return keep_if(std::holds_alternative<std::int64_t>(value));
    case Type::number:
      if (const auto* integer = std::get_if<std::int64_t>(&value)) return Value(static_cast<double>(*integer));
      return keep_if(std::holds_alternative<double>(value));
    case Type::text:
    case Type::choice:
      return keep_if(std::holds_alternative<std::string>(value));
    case Type::boolean_or_choice:
      return keep_if(std::holds_alternative<bool>(value) || std::holds_alternative<std::string>(value));
    case Type::integer_or_choice:
      return keep_if(std::holds_alternative<std::int64_t>(value) || std::holds_alternative<std::string>(value));
    case Type::number_or_choice:
      if (const auto* integer = std::get_if<std::int64_t>(&value)) return Value(static_cast<double>(*integer));
      return keep_if(std::holds_alternative<double>(value) || std::holds_alternative<std::string>(value));
    case Type::integers:
      if (is_empty_list) return Value(std::vector<std::int64_t>{});
      return keep_if(std::holds_alternative<std::vector<std::int64_t>>(value));
    case Type::numbers:
      if (is_empty_list) return Value(std::vector<double>{});
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
        return Value(std::vector<double>(list->begin(), list->end()));
      }
      return keep_if(std::holds_alternative<std::vector<double>>(value));
    case Type::texts:
      return keep_if(std::holds_alternative<std::vector<std::string>>(value));
  }
  return std::nullopt;
}

/// How the value would have been written rightly; a guess from what was written.
std::string type_advice(const Given& given, const Option& option) {
  const Type type = option.place.type;
  const std::string text = given.text;
  const bool is_list = type == Type::integers || type == Type::numbers || type == Type::texts;
  const auto* number = given.value ? std::get_if<double>(&*given.value) : nullptr;
  if (type == Type::integer && number != nullptr && std::floor(*number) == *number && std::abs(*number) < 1e15) {
    return fmt::format("write {}", static_cast<std::int64_t>(*number));
  }
  if (given.kind == "a string" && (type == Type::boolean || type == Type::integer || type == Type::number)) {
    return "write it without quotes";
  }
  if (type == Type::boolean) return "write true or false";
  if (is_list && given.on_command_line() && type == Type::texts) {
    return fmt::format("write '{}=[\"a\", \"b\"]', the shell takes away quotes that are not within others",
                       given.key());
  }
  if (is_list) return fmt::format("write [{}]", given.value ? text : "...");
  if (takes_bare_words(type)) return "write it in quotes";
  return fmt::format("write {} as it stands in `trireme help {}`", name_of(type), given.section);
}

/// The numbers of a value; none for words and booleans.
std::vector<double> numbers_of(const Value& value) {
  if (const auto* x = std::get_if<std::int64_t>(&value)) return {static_cast<double>(*x)};
  if (const auto* x = std::get_if<double>(&value)) return {*x};
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return {list->begin(), list->end()};
  if (const auto* list = std::get_if<std::vector<double>>(&value)) return *list;
  return {};
}

std::string number_fault(const Value& value, const Range& range) {
  for (const double x : numbers_of(value)) {
    if (!std::isfinite(x)) return "not finite (NaN and infinity are no settings) give a number";
    if (!range.contains(x)) return fmt::format("out of range (must be {})", range.bound_broken_by(x));
  }
  return {};
}

bool has_empty_text(const Value& value, bool required) {
  if (const auto* text = std::get_if<std::string>(&value)) return required && text->empty();
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  if (list == nullptr) return false;
  for (const std::string& text : *list) {
    if (text.empty()) return true;
  }
  return required && list->empty();
}

bool has_zero_byte(const Value& value) {
  const auto is_cut = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (const auto* text = std::get_if<std::string>(&value)) return is_cut(*text);
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  return list != nullptr && std::any_of(list->begin(), list->end(), is_cut);
}

std::string choice_fault(const Value& value, const Option& option) {
  const std::vector<std::string>& choices = option.place.choices;
  const auto* word = std::get_if<std::string>(&value);
  if (word == nullptr || choices.empty() || std::find(choices.begin(), choices.end(), *word) != choices.end())
    return {};
  const std::string near = nearest(*word, choices);
  return fmt::format("no such choice (must be one of {}){}", option.range_text(),
                     near.empty() ? "" : fmt::format(" did you mean \"{}\"?", near));
}

/// What is wrong with a value of the right type; empty when nothing.
std::string fault_of(const Value& value, const Option& option) {
  if (has_empty_text(value, option.required)) return fmt::format("empty ({}) give it", option.unit);
  if (has_zero_byte(value)) return "holds a zero byte (the system would end a path there) leave it out";
  if (const std::string fault = number_fault(value, option.range); !fault.empty()) return fault;
  if (const std::string fault = choice_fault(value, option); !fault.empty()) return fault;
  if (option.only.empty()) return {};
  std::vector<std::string> allowed;
  for (const Value& allowed_value : option.only) {
    if (allowed_value == value) return {};
    allowed.push_back(text_of(allowed_value));
  }
  return fmt::format("not available ({}) set it to {}", option.why_only, join(allowed, " or "));
}

void check_section(const Given& given, Problems& problems) {
  const std::string near = nearest(given.section, section_names());
  if (near == given.section) return;
  problems.add({given.where, given.line, "[" + given.section + "]",
                near.empty() ? fmt::format("unknown section (there are {})", join(section_names()))
                             : fmt::format("unknown section (no option is in it) did you mean [{}]?", near)});
}

}  // namespace

void accept(const Given& given, Deck& deck, Problems& problems) {
  if (given.name.empty()) {
    check_section(given, problems);
    return;
  }
  const Option* option = given.section.empty() ? nullptr : find_option(given.key());
  if (option == nullptr) {
    problems.add(given.problem(unknown_key(given)));
    return;
  }
  const std::optional<Value> value = converted(given, *option);
  std::string fault;
  if (!value) {
    fault = fmt::format("wrong type ({} is wanted, this is {}) {}", name_of(option->place.type), given.kind,
                        type_advice(given, *option));
  } else {
    fault = fault_of(*value, *option);
  }
  if (fault.empty()) {
    option->place.set(deck, *value);
  } else {
    problems.add(given.problem(fault));
    problems.doubt(option->key);
  }
}

void require(const std::set<std::string>& keys, const std::string& deck_name, Problems& problems) {
  for (const std::string& key : all_keys()) {
    const Option& option = *find_option(key);
    if (!option.required || keys.contains(key)) continue;
    problems.add({deck_name, missing_order, key,
                  fmt::format("missing (it has no default) write `{} = ...` under [{}]: {}", option.name(),
                              option.section(), option.sentence)});
    problems.doubt(key);
  }
}

}  // namespace trireme::config
