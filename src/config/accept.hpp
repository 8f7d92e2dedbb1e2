// From what the user wrote to values of a Deck, each checked against its row of the option table.
#pragma once

#include <set>
#include <string>

#include "config/given.hpp"
#include "config/options.hpp"

namespace trireme::config {

/// Sets the option of `deck` that is given, or adds the problem: an unknown or misplaced key, a wrong type, a value out
/// of range, no choice, or one that this version does not have.
void accept(const Given& given, Deck& deck, Problems& problems);

/// Adds a problem for every required option whose key is not in `keys`.
void require(const std::set<std::string>& keys, const std::string& deck_name, Problems& problems);

}  // namespace trireme::config
