#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::data {

/// The deck's `data` section.
struct DataOptions {
  std::vector<std::string> train;
  std::vector<std::string> validation;
  std::vector<double> weights;       ///< one a training file; empty: every sample once per epoch
  std::int64_t shuffle_block = 256;  ///< samples
};

/// The deck's `batch` section, in sequences.
struct BatchOptions {
  std::int64_t global = 0;
  std::int64_t micro = 0;  ///< 0: chosen by resolve()
};

}  // namespace trireme::data
