#include "config/option.hpp"

#include <string_view>

#include <fmt/format.h>

#include "trireme/base/text.hpp"

namespace trireme::config {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string number_text(double x) {
  std::string out = fmt::format("{}", x);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";  // `n` of nan and inf
  return out;
}

struct TextMaker {
  std::string operator()(bool x) const { return x ? "true" : "false"; }
  std::string operator()(std::int64_t x) const { return fmt::format("{}", x); }
  std::string operator()(double x) const { return number_text(x); }
  std::string operator()(const std::string& x) const { return quoted(x); }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    std::vector<std::string> parts;
    for (const T& x : list) parts.push_back((*this)(x));
    return fmt::format("[{}]", join(parts));
  }
};

}  // namespace

std::string text_of(const Value& value) {
  return std::visit(TextMaker{}, value);
}

std::string name_of(Type type) {
  switch (type) {
    case Type::boolean:
      return "a boolean";
    case Type::integer:
      return "an integer";
    case Type::number:
      return "a number";
    case Type::text:
    case Type::choice:
      return "a string";
    case Type::boolean_or_choice:
      return "a boolean or a string";
    case Type::integer_or_choice:
      return "an integer or a string";
    case Type::number_or_choice:
      return "a number or a string";
    case Type::integers:
      return "a list of integers";
    case Type::numbers:
      return "a list of numbers";
    case Type::texts:
      return "a list of strings";
  }
  return {};
}

bool takes_bare_words(Type type) {
  return type == Type::text || type == Type::choice || type == Type::boolean_or_choice ||
         type == Type::integer_or_choice || type == Type::number_or_choice;
}

Place or_word(Place number, const std::string& word, const Value& meaning) {
  const Type type = number.type == Type::integer ? Type::integer_or_choice : Type::number_or_choice;
  return {.type = type,
          .get =
              [=](const Deck& deck) {
                const Value value = number.get(deck);
                return value == meaning ? Value(word) : value;
              },
          .set =
              [=](Deck& deck, const Value& value) {
                number.set(deck, std::holds_alternative<std::string>(value) ? meaning : value);
              },
          .choices = {word}};
}

bool Range::contains(double x) const {
  return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);
}

std::string Range::text() const {
  const bool bounded_low = low > -std::numeric_limits<double>::infinity();
  const bool bounded_high = high < std::numeric_limits<double>::infinity();
  if (bounded_low && bounded_high) {
    return fmt::format("{} {} x {} {}", low, low_open ? "<" : "<=", high_open ? "<" : "<=", high);
  }
  if (bounded_low) return bound_broken_by(low - 1);
  return bounded_high ? bound_broken_by(high + 1) : "";
}

std::string Range::bound_broken_by(double x) const {
  const bool too_low = low_open ? x <= low : x < low;
  if (too_low) return fmt::format("{} {}", low_open ? ">" : ">=", low);
  return fmt::format("{} {}", high_open ? "<" : "<=", high);
}

Range at_least(double low, double high) {
  return {.low = low, .high = high};
}
Range above(double low) {
  return {.low = low, .low_open = true};
}
Range half_open(double low, double high) {
  return {.low = low, .high = high, .high_open = true};
}

std::string Option::section() const {
  return key.substr(0, key.find('.'));
}
std::string Option::name() const {
  return key.substr(key.find('.') + 1);
}

std::string Option::range_text() const {
  if (place.choices.empty()) return range.text();
  std::vector<std::string> all = place.choices;
  for (std::string& word : all) word = quoted(word);
  if (place.type == Type::boolean_or_choice) all.insert(all.begin(), {"true", "false"});
  if (const std::string numbers = range.text(); !numbers.empty()) all.insert(all.begin(), numbers);
  return join(all);
}

}  // namespace trireme::config
