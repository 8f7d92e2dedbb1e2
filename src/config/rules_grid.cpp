// Rules about the tensor and pipeline axes, and recomputing.
#include <algorithm>

#include <fmt/format.h>

#include "trireme/layers/slices.hpp"
#include "trireme/model/partition.hpp"

#include "config/rules.hpp"

namespace trireme::config {
namespace {

std::string one_axis_is_filled(const Deck& deck) {
  return refusal_of([&] { comm::check(deck.grid); });
}

std::string slices_fit_the_model(const Deck& deck) {
  const model::ModelOptions m = model::resolved(deck.model);
  const layers::SliceSizes sizes{.heads = m.heads, .kv_heads = m.kv_heads, .mlp_width = m.mlp_width};
  return refusal_of([&] {
    static_cast<void>(layers::resolve_slices(deck.numerics.tensor_slices, sizes, std::max(1, deck.grid.tensor),
                                             deck.numerics.grid_invariant));
  });
}

std::string chunks_need_interleaved(const Deck& deck) {
  const std::string& schedule = deck.pipeline.schedule;
  if (deck.pipeline.chunks == 1 || schedule == "interleaved") return {};
  return fmt::format(
      "needs `pipeline.schedule = \"interleaved\"` (with `{}` a stage is one part of the model) change one of them",
      schedule);
}

/// One stage has all blocks whatever is listed; but a list must be sound for the stages that it is meant for.
std::string blocks_fill_the_stages(const Deck& deck) {
  const PipelineOptions& options = deck.pipeline;
  const auto listed = static_cast<std::int64_t>(options.layers_per_stage.size());
  std::int64_t stages = deck.grid.pipeline;
  if (stages <= 1) {
    if (listed == 0) return {};
    if (listed % options.chunks != 0) {
      return fmt::format(
          "`pipeline.layers_per_stage` has {} number{} (`pipeline.chunks` = {}) give one for each chunk of each stage",
          listed, listed == 1 ? "" : "s", options.chunks);
    }
    stages = listed / options.chunks;
  }
  return refusal_of([&] {
    static_cast<void>(model::partition(model::resolved(deck.model), static_cast<int>(stages),
                                       static_cast<int>(options.chunks), options.layers_per_stage));
  });
}

std::string recomputed_layers_exist(const Deck& deck) {
  for (const std::int64_t layer : deck.recompute.layers) {
    if (layer < deck.model.layers) continue;
    return fmt::format("has block {}, which is not there (`model.layers = {}`, counted from 0) choose 0 ... {}", layer,
                       deck.model.layers, deck.model.layers - 1);
  }
  return {};
}

}  // namespace

std::vector<Rule> grid_rules() {
  return {
      {{"grid.data", "grid.tensor", "grid.pipeline"}, one_axis_is_filled, true},
      {{"numerics.tensor_slices", "grid.tensor", "model.heads", "model.kv_heads", "model.mlp_width", "model.width"},
       slices_fit_the_model,
       true},
      {{"pipeline.chunks", "pipeline.schedule"}, chunks_need_interleaved},
      {{"pipeline.layers_per_stage", "grid.pipeline", "pipeline.chunks", "pipeline.schedule", "model.layers"},
       blocks_fill_the_stages,
       true},
      {{"recompute.layers", "model.layers"}, recomputed_layers_exist},
  };
}

}  // namespace trireme::config
