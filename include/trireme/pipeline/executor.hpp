// Runs a stage's list of actions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trireme/base/timer.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/model/stage.hpp"
#include "trireme/pipeline/nonfinite.hpp"
#include "trireme/pipeline/schedule.hpp"
#include "trireme/pipeline/slots.hpp"
#include "trireme/pipeline/timeline.hpp"

namespace trireme::pipeline {

/// Walks this stage's actions, with the messages to its neighbours along the pipeline axis.
///
/// Receives are posted and sends are started without waiting; an action waits for what it needs, and what waits moves
/// the reductions of the data axis on. Nothing relies on a message being buffered (check.hpp proves the list for
/// synchronous sends).
class Executor {
 public:
  /// shape.stages: the ranks of pipeline_axis, which must outlive this object.
  Executor(const ScheduleShape& shape, comm::Communicator& pipeline_axis);
  ~Executor();

  /// The memory that this rank's stage must be given. Chunks of a stage share their slots: they do not peak together.
  [[nodiscard]] model::StageSlots stage_slots() const;

  /// Lets `watch` look at what each pass hands on, from now on; it must outlive the steps.
  void let_watch(NonfiniteWatch& watch) noexcept { watch_ = &watch; }

  /// One step: the gradients of all micro-batches go to step.gradients, the log-probabilities to step.loss. With
  /// `events`, what was done is appended (row: this stage; seconds of `clock`). Collective over the pipeline axis.
  void run(model::Stage& stage, const data::StepBatch& batch, const model::TrainingStep& step,
           std::vector<Event>* events = nullptr, const Timer& clock = {});

 private:
  struct Messages;
  ScheduleShape shape_;
  comm::Communicator& axis_;
  ActionList actions_;
  Slots slots_;
  NonfiniteWatch* watch_ = nullptr;
  bool fused_ = true;  // no weight pass is apart
  std::unique_ptr<Messages> messages_;
};

}  // namespace trireme::pipeline
