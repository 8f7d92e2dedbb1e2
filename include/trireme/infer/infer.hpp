// `trireme generate` and `trireme evaluate`: a checkpoint is all they need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/grid_shape.hpp"
#include "trireme/device/device.hpp"

namespace trireme::infer {

struct GenerateOptions {
  std::string checkpoint;  ///< run folder (its newest) or step folder
  std::string prompt;
  std::int64_t tokens = 200;
  double temperature = 0.8;  ///< 0: always the likeliest
  std::int64_t top_k = 0;    ///< draw among the k likeliest only; 0: among all
  std::uint64_t seed = 1;
  comm::GridOptions grid{.data = 1, .tensor = 1, .pipeline = 0};  ///< the ranks are stages of the pipeline
};

/// Prints the prompt and what the model makes of it, piece by piece, to standard output. When the context is full the
/// last half of it is kept. Draws are a function of seed and place, so the same call gives the same text. The model is
/// split over the ranks; rank 0 prints. Collective.
void generate(comm::Communicator& world, const device::Device& device, const GenerateOptions& options);

struct EvaluateOptions {
  std::string checkpoint;  ///< run folder (its newest) or step folder
  std::vector<std::string> data;
  comm::GridOptions grid{.data = 0};  ///< the ranks share the data
};

/// Prints the loss of a checkpoint over a dataset, all of it, every target token once. The ranks share the work.
/// Collective.
void evaluate(comm::Communicator& world, const device::Device& device, const EvaluateOptions& options);

/// The token to take, given logits: temperature, top-k, and one uniform number in [0, 1).
[[nodiscard]] std::int32_t sample_token(const std::vector<float>& logits, double temperature, std::int64_t top_k,
                                        double uniform);

}  // namespace trireme::infer
