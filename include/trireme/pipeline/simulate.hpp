// How long a schedule takes, from how long its actions take.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/pipeline/schedule.hpp"

namespace trireme::pipeline {

/// Seconds of one micro-batch in one chunk; a fused backward takes both passes' time.
struct Durations {
  double forward_s = 1;
  double backward_input_s = 1;
  double backward_weight_s = 1;
};

struct Timing {
  std::vector<std::vector<Durations>> durations;  ///< [stage][chunk]
  double transfer_s = 0;  ///< of each message, from the moment when send and receive are both started
};
/// The same durations in every chunk of every stage.
[[nodiscard]] Timing uniform_timing(const Schedule& schedule, const Durations& durations, double transfer_s = 0);

/// A compute action from its begin to its end; a send or a receive from its start to the end of the transfer.
struct SimulatedEvent {
  int stage = 0;
  Action action;
  double begin_s = 0;
  double end_s = 0;
};

struct Simulation {
  std::vector<SimulatedEvent> events;  ///< stage by stage, each in the order of its list
  double makespan_s = 0;               ///< until the last stage is done
  std::vector<double> idle_share;      ///< part of the makespan in which a stage computes nothing, by stage
  double bubble_share = 0;             ///< their mean
  /// The longest time that a stage is idle between its first and its last compute action: what the papers call the
  /// bubble. Stages may begin and end at different times, so that it can be less than the idle part of the makespan.
  double bubble_s = 0;
  std::vector<std::int64_t> peak_live;  ///< activations held at a time, by stage (slots.hpp)
};

/// Runs every list as the executor does: transfers go on beside computing, an action waits for its messages and for the
/// sends of its slot's last holder (slots.hpp). Expects a sound schedule (check.hpp).
[[nodiscard]] Simulation simulate(const Schedule& schedule, const Timing& timing);

}  // namespace trireme::pipeline
