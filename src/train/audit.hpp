// Whether all that must be equal on several ranks still is, and whether the state is fit to be saved.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trireme/comm/process_grid.hpp"
#include "trireme/device/device.hpp"
#include "trireme/layers/tensor_axis.hpp"
#include "trireme/model/options.hpp"
#include "trireme/optim/data_axis.hpp"
#include "trireme/optim/held_state.hpp"

namespace trireme::train {

/// Numbers of a step that all ranks have alike.
struct Counters {
  std::int64_t step = 0;
  std::int64_t skipped = 0;
  double loss_scale = 1;
  std::int64_t loss_scale_good_steps = 0;
};

/// Compares fingerprints of the arrays that several ranks keep alike, along the axis where they do:
///   data      whole weights; masters and moments between groups
///   tensor    norms, biases of row-cut layers, positions; slices of keys and values that several ranks read
///   pipeline  a tied table on the first and on the last stage
///   world     counters
/// One number goes each way while all is well; only then, who differs and in what is looked for. Memory: a few numbers
/// a tensor.
class Audit {
 public:
  struct Subjects {
    const device::Device& device;
    comm::ProcessGrid& grid;
    const layers::TensorAxis& tensor_axis;
    const optim::DataAxis& data_axis;
    const optim::Weights& weights;
    optim::Optimizer& optimizer;
  };
  /// Subjects and what they refer to must outlive this object. Collective.
  Audit(const Subjects& subjects, const model::ModelOptions& model);

  /// replicas: look for replicas that differ; finite: for numbers of the state that are not finite. Throws
  /// NumericalError on all ranks, naming tensor, ranks, hosts and step. No bucket may be in use. Collective over the
  /// grid.
  void run(const Counters& counters, bool replicas, bool finite);

 private:
  /// Ranks that must have the same fingerprints of some parts of some entries.
  struct Comparison {
    std::string_view where;
    comm::Communicator* ranks = nullptr;
    comm::Communicator* pieces = nullptr;  ///< ranks whose pieces add up to what is compared; nullptr: just this one
    std::vector<optim::StatePart> parts;
    std::vector<const tensor::Parameter*> entries;
  };
  using Prints = std::unordered_map<const tensor::Parameter*, std::array<std::uint64_t, optim::num_state_parts>>;

  void add(Comparison comparison);
  void compare_tied_tables(const model::ModelOptions& model);
  [[nodiscard]] std::vector<const tensor::Parameter*> entries_of(std::optional<tensor::Replicas> replicas) const;
  [[nodiscard]] Prints fingerprints() const;
  [[nodiscard]] bool all_alike(const Comparison& comparison, const Prints& prints) const;
  [[nodiscard]] std::string difference(const Comparison& comparison, const Prints& prints) const;
  [[nodiscard]] std::string who_differs(comm::Communicator& ranks, std::uint64_t mine) const;
  [[nodiscard]] std::string counter_difference(const Counters& counters) const;
  [[nodiscard]] std::string first_nonfinite() const;
  [[nodiscard]] std::string rank_text(int world_rank) const;

  Subjects subjects_;
  std::unique_ptr<comm::Communicator> ends_;  ///< first and last stage, where they share a table
  std::vector<Comparison> comparisons_;
};

}  // namespace trireme::train
