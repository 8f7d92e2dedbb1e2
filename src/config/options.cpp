#include "config/options.hpp"

#include <iterator>

namespace trireme::config {
namespace {

std::vector<Section> gather() {
  std::vector<Section> all;
  for (const auto make :
       {run_sections, model_sections, data_sections, parallel_sections, training_sections, keeping_sections}) {
    std::vector<Section> part = make();
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

const std::vector<Section>& sections() {
  static const std::vector<Section> all = gather();
  return all;
}

const Option* find_option(const std::string& key) {
  for (const Section& section : sections()) {
    for (const Option& option : section.options) {
      if (option.key == key) return &option;
    }
  }
  return nullptr;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Section& section : sections()) names.push_back(section.name);
  return names;
}

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  for (const Section& section : sections()) {
    for (const Option& option : section.options) keys.push_back(option.key);
  }
  return keys;
}

std::vector<std::string> sections_with(const std::string& name) {
  std::vector<std::string> names;
  for (const Section& section : sections()) {
    if (find_option(section.name + "." + name) != nullptr) names.push_back(section.name);
  }
  return names;
}

}  // namespace trireme::config
