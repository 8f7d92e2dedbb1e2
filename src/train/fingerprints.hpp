// Fingerprints of a step, layer by layer and tensor by tensor, so that two runs can be compared.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/device.hpp"
#include "trireme/layers/tensor_axis.hpp"
#include "trireme/model/pass_fingerprints.hpp"
#include "trireme/optim/data_axis.hpp"
#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/held_state.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/optim/weights.hpp"

namespace trireme::train {

/// One line of a step's file.
struct Fingerprint {
  std::string phase;  ///< `forward`, `loss`, `backward`, `gradient`, `norm`, `weight`
  std::string name;   ///< of the layer or tensor
  std::uint64_t value = 0;
};

/// Takes the fingerprints of steps. Every logical number counts once, whatever the grid: equal on all grids in the
/// grid-invariant mode, equal on one grid always.
class Fingerprints {
 public:
  /// All arguments must outlive this object. Collective over world.
  Fingerprints(const device::Device& device, comm::Communicator& world, const layers::TensorAxis& tensor_axis,
               const optim::DataAxis& data_axis, const optim::Weights& weights, optim::Optimizer& optimizer,
               const optim::GradientSync& gradients, std::int64_t layers);

  void begin_step();
  /// For the passes of the step.
  [[nodiscard]] model::PassFingerprints& passes() noexcept { return passes_; }
  /// The reduced gradients, before the norm is taken.
  void take_gradients();
  /// The weights, after the update or in its place; fp32 masters in half precision.
  void take_weights();
  /// All of the step in the order of its computation, the same on every rank. Collective over world.
  [[nodiscard]] std::vector<Fingerprint> finish(double loss, double gradient_norm);

 private:
  void add(std::vector<std::uint64_t>& sums, const tensor::Parameter& parameter, const tensor::Shard& place,
           float* values) const;

  const device::Device& device_;
  comm::Communicator& world_;
  const optim::DataAxis& data_axis_;
  const optim::Weights& weights_;
  optim::Optimizer& optimizer_;
  const optim::GradientSync& sync_;
  std::int64_t layers_;
  model::PassFingerprints passes_;
  std::vector<std::string> names_;  ///< of all tensors of the model, and of second gradients of tied ones
  std::vector<bool> has_weight_;    ///< false for the second gradient of a tied tensor
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::uint64_t> gradients_;
  std::vector<std::uint64_t> weights_after_;
};

/// `<folder>/step_00000012.tsv`: a line for each fingerprint. One rank only.
void write_fingerprints(const std::string& folder, std::int64_t step, const std::vector<Fingerprint>& fingerprints);

}  // namespace trireme::train
