// What the tests train: two small decks, one that divides evenly and one that does not, and a larger one, with options
// laid over them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/comm/grid_shape.hpp"
#include "trireme/config/deck.hpp"

#include "parallel/train/covering.hpp"

namespace trireme::testing {

enum class Base : std::uint8_t {
  tiny,  ///< 4 blocks of width 32, 4 heads, vocabulary 96: everything divides
  odd,   ///< 5 blocks of width 36, 6 heads, vocabulary 97: nothing does
  llama  ///< 8 blocks of width 320, 8 heads, 2 of keys and values, rotary, rmsnorm, swiglu, no bias: 10M parameters
};

/// A deck as a command line gives it: a base and `section.key=value` over it.
struct Case {
  Base base = Base::tiny;
  std::vector<std::string> overrides;

  /// `tiny grid.data=2 ...`
  [[nodiscard]] std::string text() const;
  /// The same training on one rank: without what may change neither numbers nor order of summation (grid, pipeline,
  /// sharding, recompute, comm).
  [[nodiscard]] Case on_one_rank() const;
  /// Where and how it is computed: the other overrides.
  [[nodiscard]] Case placement() const;
  [[nodiscard]] Case with(const std::vector<std::string>& more) const;
};

/// The case of a Case::text(), to look at one alone.
[[nodiscard]] Case case_of(const std::string& text);

/// The resolved deck over the dataset files of `data_folder`, and the grid that it names, checked as for a run.
struct Laid {
  config::Deck deck;
  comm::GridShape grid;
};
[[nodiscard]] Laid lay(const Case& what, const std::string& data_folder);

/// Writes the dataset files that the bases name. One process.
void write_datasets(const std::string& data_folder);

/// Whether the case has the bits of its one-rank training: invariant, data and tensor sizes divide lanes and slices.
[[nodiscard]] bool is_promised(const Laid& laid);

/// Values of `precision.compute`.
using Precisions = std::vector<std::string>;
inline const Precisions all_precisions{"fp32", "bf16", "fp16"};

/// Every grid of 1, 2, 4 and 8 ranks that tiny can have, with every schedule, ZeRO stage, recompute mode and precision.
[[nodiscard]] std::vector<Case> tiny_product(int num_ranks, const Precisions& precisions);
/// About `num_cases` of tiny_product() with every pair of choices that fits together.
[[nodiscard]] std::vector<Case> tiny_sample(int num_ranks, std::size_t num_cases, const Precisions& precisions);
/// The same over everything that odd can be.
[[nodiscard]] std::vector<Case> odd_sample(int num_ranks, std::size_t num_cases, const Precisions& precisions);
/// The same over grids of up to 8 ranks, micro-batches and all that is not part of the model of llama.
[[nodiscard]] std::vector<Case> llama_sample(int num_ranks, std::size_t num_cases, const Precisions& precisions);

}  // namespace trireme::testing
