// Rules across options: sizes that must divide, options that need each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/config/deck.hpp"

#include "config/problems.hpp"

namespace trireme::config {

/// Where a key was given, as Problem has it.
struct Origin {
  std::string where;
  int line = 0;
};

/// Checks a deck, whose zeros may be filled or not: what depends on an axis of the grid that is 0 is not judged. Rules
/// that touch a doubtful option are left out. Each problem stands at the first of the rule's options that was given.
void check_rules(const Deck& deck, const std::function<Origin(const std::string& key)>& origin_of, Problems& problems);

/// A rule: its options, and what is wrong (empty: nothing). The first option is the one that the message is about.
struct Rule {
  std::vector<std::string> keys;
  std::string (*fault)(const Deck&);
  bool names_itself = false;  ///< the fault is a whole sentence with the option's name and value
};

/// The words of the InputError that `check` throws; empty when it throws none.
template <class Check>
std::string refusal_of(Check&& check) {
  try {
    check();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// The rules, one group a source file.
[[nodiscard]] std::vector<Rule> model_rules();
[[nodiscard]] std::vector<Rule> batch_rules();
[[nodiscard]] std::vector<Rule> grid_rules();
[[nodiscard]] std::vector<Rule> run_rules();

}  // namespace trireme::config
