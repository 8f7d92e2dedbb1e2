// Rules across options: sizes that must divide, options that need each other.
#pragma once

#include <functional>
#include <string>

#include "trireme/config/deck.hpp"

#include "config/problems.hpp"

namespace trireme::config {

/// Where a key was given, as Problem has it.
struct Origin {
  std::string where;
  int line = 0;
};

/// Checks a deck whose batch.micro is filled and whose model's zeros are not. Rules that touch a doubtful option are
/// left out. Each problem stands at the first of the rule's options that was given.
void check_rules(const Deck& deck, const std::function<Origin(const std::string& key)>& origin_of, Problems& problems);

}  // namespace trireme::config
