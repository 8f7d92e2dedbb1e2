#include "trireme/pipeline/executor.hpp"

namespace trireme::pipeline {

void run(const ActionList& actions, model::Stage& stage, const data::StepBatch& batch, const model::StepKey& key,
         model::CrossEntropyLoss& loss, optim::GradientSync& gradients) {
  for (const Action& action : actions) {
    const data::Batch& micro_batch = batch.micro_batches[static_cast<std::size_t>(action.micro_batch)];
    switch (action.kind) {
      case ActionKind::forward:
        stage.forward(micro_batch, key);
        break;
      case ActionKind::backward:
        stage.backward(micro_batch, key, loss, gradients);
        break;
    }
    gradients.poll();
  }
}

}  // namespace trireme::pipeline
