#include "config/options.hpp"

namespace trireme::config {

std::string to_toml(const Deck& deck) {
  std::string text;
  for (const Section& section : sections()) {
    text += (text.empty() ? "[" : "\n[") + section.name + "]\n";
    for (const Option& option : section.options) {
      text += option.name() + " = " + text_of(option.place.get(deck)) + "\n";
    }
  }
  return text;
}

std::vector<Difference> compare_for_resume(const Deck& stored, const Deck& given) {
  std::vector<Difference> differences;
  for (const Section& section : sections()) {
    for (const Option& option : section.options) {
      const Value before = option.place.get(stored);
      const Value now = option.place.get(given);
      if (before == now) continue;
      differences.push_back({option.key, text_of(before), text_of(now), option.resume == Resume::refused});
    }
  }
  return differences;
}

}  // namespace trireme::config
