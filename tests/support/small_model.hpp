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
#include "trireme/optim/weights.hpp"

namespace trireme::support {

struct SmallModelOptions {
  model::ModelOptions model;
  std::int64_t sequences = 1;  ///< of a micro-batch
  std::int64_t micro_batches = 1;
  std::int64_t lanes = 1;
  int num_threads = 1;
  std::int64_t slices = 1;
  bool split = false;  ///< input and weight passes apart
  model::RecomputeOptions recompute;
  optim::OptimizerOptions optimizer;
  Dtype compute = Dtype::f32;
  double gradient_scale = 1;  ///< of the loss, and taken out of the gradients by the caller
};

class SmallModel {
 public:
  explicit SmallModel(const SmallModelOptions& options)
      : split_(options.split),
        gradient_scale_(options.gradient_scale),
        device_({.num_threads = options.num_threads, .isa = device::detect_isa()}),
        self_(comm::make_self_communicator()) {
    device::Arena plan;
    Parts measured(*this, plan, options);
    arena_ = device::Arena(plan.used_bytes());
    parts_ = std::make_unique<Parts>(*this, arena_, options);
  }

  [[nodiscard]] model::Stage& stage() { return parts_->stage; }
  [[nodiscard]] optim::GradientSync& gradients() { return parts_->gradients; }
  [[nodiscard]] optim::Optimizer& optimizer() { return parts_->optimizer; }
  [[nodiscard]] optim::Weights& weights() { return parts_->weights; }
  [[nodiscard]] comm::Communicator& self() { return *self_; }

  /// Loss of one batch, with its gradients left in the parameters.
  double loss_and_gradients(const data::Batch& batch, const model::StepKey& key = {}) {
    model::CrossEntropyLoss loss(batch.counted(), gradient_scale_);
    gradients().begin_step();
    const model::TrainingStep step{.key = key, .loss = loss, .weights = parts_->weights, .gradients = gradients()};
    stage().forward(0, 0, batch, step);
    if (split_) {
      stage().backward_input(0, 0, 0, batch, step);
      stage().backward_weight(0, 0, 0, batch, step);
    } else {
      stage().backward(0, 0, batch, step);
    }
    gradients().finish();
    return loss.value(*self_);
  }

 private:
  struct Parts {
    Parts(SmallModel& owner, device::Arena& arena, const SmallModelOptions& options)
        : model(model::resolved(options.model)),
          tensor_axis(*owner.self_, owner.device_,
                      {.slices = options.slices,
                       .kv_heads = model.kv_heads,
                       .head_width = model.head_width,
                       .width = model.width,
                       .compute = options.compute}),
          data_axis(*owner.self_),
          gemm(owner.device_, arena, options.compute),
          stage(owner.device_, gemm, tensor_axis, model, {model::whole_model(model)}, options.recompute),
          weights(owner.device_, stage.parameters(), data_axis, arena, {.compute = options.compute}),
          gradients(owner.device_, data_axis, weights, arena,
                    {.micro_batches = options.micro_batches, .lanes = options.lanes}),
          optimizer(owner.device_, weights, gradients, data_axis, *owner.self_, arena, options.optimizer) {
      stage.allocate_training(arena, options.sequences, {.activations = 1, .gradients = options.split ? 1 : 0});
    }
    model::ModelOptions model;
    layers::TensorAxis tensor_axis;
    optim::DataAxis data_axis;
    kernels::Gemm gemm;
    model::Stage stage;
    optim::Weights weights;
    optim::GradientSync gradients;
    optim::Optimizer optimizer;
  };

  bool split_;
  double gradient_scale_;
  device::Device device_;
  std::unique_ptr<comm::Communicator> self_;
  device::Arena arena_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace trireme::support
