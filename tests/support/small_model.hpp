// A whole model in one process, for tests: parameters, gradients, optimizer and activations in one arena.
#pragma once

#include <memory>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/gemm.hpp"
#include "trireme/model/stage.hpp"
#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/optimizer.hpp"

namespace trireme::support {

struct SmallModelOptions {
  model::ModelOptions model;
  std::int64_t sequences = 1;  ///< of a micro-batch
  std::int64_t micro_batches = 1;
  std::int64_t lanes = 1;
  int num_threads = 1;
  optim::OptimizerOptions optimizer;
};

class SmallModel {
 public:
  explicit SmallModel(const SmallModelOptions& options)
      : device_({.num_threads = options.num_threads, .isa = device::detect_isa()}),
        self_(comm::make_self_communicator()) {
    device::Arena plan;
    Parts measured(*this, plan, options);
    arena_ = device::Arena(plan.used_bytes());
    parts_ = std::make_unique<Parts>(*this, arena_, options);
  }

  [[nodiscard]] model::Stage& stage() { return parts_->stage; }
  [[nodiscard]] optim::GradientSync& gradients() { return parts_->gradients; }
  [[nodiscard]] optim::Optimizer& optimizer() { return parts_->optimizer; }
  [[nodiscard]] comm::Communicator& self() { return *self_; }

  /// Loss of one batch, with its gradients left in the parameters.
  double loss_and_gradients(const data::Batch& batch, const model::StepKey& key = {}) {
    model::CrossEntropyLoss loss(batch.counted());
    gradients().begin_step();
    stage().forward(batch, key);
    stage().backward(batch, key, loss, gradients());
    gradients().finish();
    return loss.value(*self_);
  }

 private:
  struct Parts {
    Parts(SmallModel& owner, device::Arena& arena, const SmallModelOptions& options)
        : gemm(owner.device_, arena),
          stage(owner.device_, gemm, options.model),
          gradients(owner.device_, stage.parameters(), *owner.self_, arena,
                    {.micro_batches = options.micro_batches, .lanes = options.lanes}),
          optimizer(owner.device_, gradients, *owner.self_, *owner.self_, arena, options.optimizer, {}) {
      stage.allocate_training(arena, options.sequences);
    }
    kernels::Gemm gemm;
    model::Stage stage;
    optim::GradientSync gradients;
    optim::Optimizer optimizer;
  };

  device::Device device_;
  std::unique_ptr<comm::Communicator> self_;
  device::Arena arena_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace trireme::support
