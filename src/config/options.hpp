// The option table: every option of the deck, once. Parsing, checks, help, the reference page, resolved decks and the
// comparison on resume are all made from it.
#pragma once

#include <string>
#include <vector>

#include "config/option.hpp"

namespace trireme::config {

struct Section {
  std::string name;
  std::string sentence;
  std::vector<Option> options;
};

/// All sections, in the order of the reference page.
[[nodiscard]] const std::vector<Section>& sections();

/// The option of a whole key (`model.width`), or null.
[[nodiscard]] const Option* find_option(const std::string& key);

[[nodiscard]] std::vector<std::string> section_names();

/// Every `section.name`.
[[nodiscard]] std::vector<std::string> all_keys();

/// Every section that has an option of this bare name.
[[nodiscard]] std::vector<std::string> sections_with(const std::string& name);

// The parts of the table, one a source file, in the order of the reference page.
[[nodiscard]] std::vector<Section> run_sections();       // run
[[nodiscard]] std::vector<Section> model_sections();     // model
[[nodiscard]] std::vector<Section> data_sections();      // data, batch
[[nodiscard]] std::vector<Section> parallel_sections();  // grid, pipeline, sharding, recompute, comm
[[nodiscard]] std::vector<Section> training_sections();  // precision, numerics, optimizer, learning_rate
[[nodiscard]] std::vector<Section> keeping_sections();   // evaluation, checkpoint, walltime, metrics

}  // namespace trireme::config
