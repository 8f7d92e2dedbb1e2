// A training without a model: gradients are random numbers, a pure function of step, micro-batch, tensor and element.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::testing {

struct ToyOptions {
  std::int64_t micro_batches = 32;  ///< of the step, over all ranks
  std::int64_t lanes = 8;           ///< of the step, over all ranks
  int zero_stage = 1;
  bool tied = true;
  bool only_small = false;  ///< all but vectors of 2 elements frozen
};

/// The gradient of one micro-batch.
[[nodiscard]] float toy_gradient(std::int64_t step, std::int64_t micro_batch, const std::string& name,
                                 std::int64_t element);

class ToyTraining {
 public:
  explicit ToyTraining(comm::Communicator& data_axis, const ToyOptions& options = {});

  /// One step of this rank's micro-batches: gradients, norm, update with a clip that bites.
  void step();

  [[nodiscard]] double norm() const noexcept { return norm_; }
  [[nodiscard]] tensor::ParameterStore& store() noexcept { return store_; }
  [[nodiscard]] optim::GradientSync& gradients() noexcept { return *gradients_; }
  [[nodiscard]] optim::Optimizer& optimizer() noexcept { return *optimizer_; }
  [[nodiscard]] std::int64_t steps_done() const noexcept { return steps_done_; }

 private:
  void fill_store(const ToyOptions& options);
  void draw_weights();
  void backward(std::int64_t micro_batch);

  comm::Communicator& data_axis_;
  ToyOptions options_;
  device::Device device_;
  device::Arena arena_;
  tensor::ParameterStore store_;
  std::unique_ptr<optim::GradientSync> gradients_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  double norm_ = 0;
  std::int64_t steps_done_ = 0;
};

}  // namespace trireme::testing
