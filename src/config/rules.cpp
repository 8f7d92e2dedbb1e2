#include "config/rules.hpp"

#include <algorithm>
#include <iterator>

#include "config/options.hpp"

namespace trireme::config {
namespace {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> gathered;
    for (const auto make : {model_rules, batch_rules, grid_rules, run_rules}) {
      std::vector<Rule> part = make();
      std::move(part.begin(), part.end(), std::back_inserter(gathered));
    }
    return gathered;
  }();
  return all;
}

}  // namespace

void check_rules(const Deck& deck, const std::function<Origin(const std::string& key)>& origin_of, Problems& problems) {
  for (const Rule& rule : rules()) {
    const auto doubtful = [&](const std::string& key) { return problems.doubts(key); };
    if (std::any_of(rule.keys.begin(), rule.keys.end(), doubtful)) continue;
    const std::string fault = rule.fault(deck);
    if (fault.empty()) continue;
    Origin origin = origin_of(rule.keys.front());
    for (std::size_t i = 1; i < rule.keys.size() && origin.line == missing_order; ++i) origin = origin_of(rule.keys[i]);
    const std::string value = text_of(find_option(rule.keys.front())->place.get(deck));
    problems.add({origin.where, origin.line, rule.names_itself ? "" : rule.keys.front() + " = " + value, fault});
  }
}

}  // namespace trireme::config
