// One option of the deck: its name, what it may be, and where its value lives in a Deck.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "trireme/config/deck.hpp"

namespace trireme::config {

/// A value as TOML has it.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                           std::vector<std::string>>;

/// The value in TOML's spelling; numbers read back to the same bits.
[[nodiscard]] std::string text_of(const Value& value);

enum class Type : std::uint8_t {
  boolean,
  integer,
  number,
  text,
  choice,
  boolean_or_choice,
  integer_or_choice,
  number_or_choice,
  integers,
  numbers,
  texts
};

/// `an integer`, `a list of strings`, ...
[[nodiscard]] std::string name_of(Type type);

/// True if the command line may give the option as a bare word.
[[nodiscard]] bool takes_bare_words(Type type);

/// Bounds of a number, or of each number of a list.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;
  [[nodiscard]] bool contains(double x) const;
  /// `>= 1`, `0 <= x < 1`; empty when unbounded.
  [[nodiscard]] std::string text() const;
  /// The part of text() that x does not keep to.
  [[nodiscard]] std::string bound_broken_by(double x) const;
};

[[nodiscard]] Range at_least(double low, double high = std::numeric_limits<double>::infinity());
[[nodiscard]] Range above(double low);
/// low <= x < high.
[[nodiscard]] Range half_open(double low, double high);

/// Where an option's value lives, and of which type it is.
struct Place {
  Type type = Type::integer;
  std::function<Value(const Deck&)> get;
  std::function<void(Deck&, const Value&)> set;
  std::vector<std::string> choices = {};
};

/// An integer or a number for which a word may stand: that of the value `meaning`, which is out of the option's range.
[[nodiscard]] Place or_word(Place number, const std::string& word, const Value& meaning);

/// What a resume does when the checkpoint's deck has another value.
enum class Resume : std::uint8_t { free, refused };

/// A row of the option table.
struct Option {
  std::string key;  ///< `section.name`
  Place place;
  std::string unit = {};
  Range range = {};
  std::vector<Value> only = {};  ///< the values this version can run; empty: all
  std::string why_only = {};     ///< what this version does instead of the rest
  std::string sentence = {};
  std::string owner = {};  ///< module
  Resume resume = Resume::free;
  bool required = false;

  [[nodiscard]] std::string section() const;
  [[nodiscard]] std::string name() const;
  /// `>= 1`, `one of layernorm, rmsnorm`, ...; empty when all is allowed.
  [[nodiscard]] std::string range_text() const;
};

template <class T>
constexpr Type type_for() {
  if constexpr (std::is_same_v<T, bool>) return Type::boolean;
  if constexpr (std::is_integral_v<T>) return Type::integer;
  if constexpr (std::is_floating_point_v<T>) return Type::number;
  if constexpr (std::is_same_v<T, std::string>) return Type::text;
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return Type::integers;
  if constexpr (std::is_same_v<T, std::vector<double>>) return Type::numbers;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return Type::texts;
}

/// The type that a Value holds for a member of type T.
template <class T>
using Stored = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, std::int64_t, T>;

/// The place of `deck.*section.*member`.
template <class Section, class T>
Place place(Section Deck::*section, T Section::*member) {
  return {.type = type_for<T>(),
          .get = [=](const Deck& deck) { return Value(static_cast<Stored<T>>(deck.*section.*member)); },
          .set = [=](Deck& deck,
                     const Value& value) { deck.*section.*member = static_cast<T>(std::get<Stored<T>>(value)); }};
}

/// A string that must be one of `choices`.
template <class Section>
Place choice(Section Deck::*section, std::string Section::*member, std::vector<std::string> choices) {
  Place at = place(section, member);
  at.type = Type::choice;
  at.choices = std::move(choices);
  return at;
}

/// An enumeration spelled by `choices`, in the order of its values from 0.
template <class Section, class Enumeration>
requires std::is_enum_v<Enumeration> Place choice(Section Deck::*section, Enumeration Section::*member,
                                                  std::vector<std::string> choices) {
  return {.type = Type::choice,
          .get = [=](const Deck& deck) { return Value(choices.at(static_cast<std::size_t>(deck.*section.*member))); },
          .set =
              [=](Deck& deck, const Value& value) {
                std::size_t i = 0;
                while (choices.at(i) != std::get<std::string>(value)) ++i;
                deck.*section.*member = static_cast<Enumeration>(i);
              },
          .choices = choices};
}

}  // namespace trireme::config
