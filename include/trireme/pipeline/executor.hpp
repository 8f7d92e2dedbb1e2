#pragma once

#include "trireme/data/loader.hpp"
#include "trireme/model/stage.hpp"
#include "trireme/pipeline/schedule.hpp"

namespace trireme::pipeline {

/// Runs a list of actions on this rank's stage: the gradients of all its micro-batches go to `gradients`, their
/// log-probabilities to `loss`. Reductions that are under way are moved on between actions.
void run(const ActionList& actions, model::Stage& stage, const data::StepBatch& batch, const model::StepKey& key,
         model::CrossEntropyLoss& loss, optim::GradientSync& gradients);

}  // namespace trireme::pipeline
