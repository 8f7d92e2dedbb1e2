#include "trireme/pipeline/simulate.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "trireme/pipeline/slots.hpp"

#include "unit/pipeline/schedules.hpp"

namespace trireme::pipeline {
namespace {

constexpr int kStages = 4;
constexpr std::int64_t kMany = 32;
constexpr double kTolerance = 1e-9;

/// Durations of a whole stage, shared out evenly among its chunks.
Simulation run(ScheduleKind kind, std::int64_t micro_batches, const Durations& stage, int chunks = 1,
               double transfer_s = 0) {
  const Schedule schedule = make_schedule(kind, kStages, micro_batches, chunks);
  const Durations chunk{stage.forward_s / chunks, stage.backward_input_s / chunks, stage.backward_weight_s / chunks};
  return simulate(schedule, uniform_timing(schedule, chunk, transfer_s));
}

double all_passes(const Durations& durations) {
  return durations.forward_s + durations.backward_input_s + durations.backward_weight_s;
}

const std::vector<Durations> kDurations{{1, 1, 1}, {1, 1.25, 0.875}, {0.5, 0.75, 0.5}};

TEST(Simulate, NaiveRunsOneStageAtATime) {
  for (const Durations& durations : kDurations) {
    const Simulation simulation = run(ScheduleKind::naive, 6, durations);
    EXPECT_NEAR(simulation.makespan_s, 6 * kStages * all_passes(durations), kTolerance);
    EXPECT_NEAR(simulation.bubble_share, 1 - 1.0 / kStages, kTolerance);
  }
}

TEST(Simulate, GpipeAndOneForwardOneBackwardHaveTheBubbleOfTheOtherStages) {
  for (const ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::one_forward_one_backward}) {
    for (const Durations& durations : kDurations) {
      const Simulation simulation = run(kind, kMany, durations);
      const double bubble_s = (kStages - 1) * all_passes(durations);
      EXPECT_NEAR(simulation.bubble_s, bubble_s, kTolerance);
      EXPECT_NEAR(simulation.makespan_s, kMany * all_passes(durations) + bubble_s, kTolerance);
      EXPECT_NEAR(simulation.bubble_share, bubble_s / simulation.makespan_s, kTolerance);
    }
  }
}

TEST(Simulate, InterleavedDividesTheBubbleByTheChunks) {
  for (const int chunks : {1, 2, 3, 4}) {
    for (const Durations& durations : kDurations) {
      const Simulation simulation = run(ScheduleKind::interleaved, kMany, durations, chunks);
      EXPECT_NEAR(simulation.bubble_s, (kStages - 1) * all_passes(durations) / chunks, kTolerance) << chunks;
    }
  }
}

TEST(Simulate, ZeroBubbleFillsWithWeightPasses) {
  for (const Durations& durations : kDurations) {
    const double bubble_s = run(ScheduleKind::zero_bubble, kMany, durations).bubble_s;
    EXPECT_NEAR(bubble_s,
                (kStages - 1) * (durations.forward_s + durations.backward_input_s - durations.backward_weight_s),
                kTolerance);
  }
}

TEST(Simulate, ZeroBubbleH2HasNoBubbleWhenPassesAreEqual) {
  EXPECT_NEAR(run(ScheduleKind::zero_bubble_h2, kMany, {1, 1, 1}).bubble_s, 0, kTolerance);
  const Durations uneven{1, 1.25, 0.875};
  EXPECT_NEAR(run(ScheduleKind::zero_bubble_h2, kMany, uneven).bubble_s, (kStages - 1) * (1 + 1.25 - 2 * 0.875),
              kTolerance);
}

TEST(Simulate, ZeroBubbleH2EndsNoSoonerThanItsLastStageCan) {
  // Stages begin one after the other and end so: what the paper gains is gained if the next step begins likewise.
  const Simulation simulation = run(ScheduleKind::zero_bubble_h2, kMany, {1, 1, 1});
  EXPECT_NEAR(simulation.makespan_s, 3 * kMany + kStages - 1, kTolerance);
  EXPECT_NEAR(simulation.makespan_s, run(ScheduleKind::zero_bubble, kMany, {1, 1, 1}).makespan_s, kTolerance);
}

TEST(Simulate, FewMicroBatchesLeaveABubbleThatTheyCannotFill) {
  for (std::int64_t m = 1; m <= 12; ++m) {
    const double forward_and_input = 2.0 * (kStages - 1);
    const auto filled = [m](std::int64_t most) { return static_cast<double>(std::min(m, most) - 1); };
    EXPECT_NEAR(run(ScheduleKind::one_forward_one_backward, m, {}).bubble_s, 3.0 * (kStages - 1), kTolerance);
    EXPECT_NEAR(run(ScheduleKind::zero_bubble, m, {}).bubble_s, forward_and_input - filled(kStages), kTolerance);
    EXPECT_NEAR(run(ScheduleKind::zero_bubble_h2, m, {}).bubble_s, forward_and_input - filled(2 * kStages - 1),
                kTolerance);
    for (const int chunks : {2, 3, 4}) {
      const double missing = static_cast<double>((kStages - m % kStages) % kStages);
      const double published_s = 3.0 * (kStages - 1) / chunks;
      const double bubble_s = run(ScheduleKind::interleaved, m, {}, chunks).bubble_s;
      EXPECT_LE(bubble_s, published_s + missing * 3 * (chunks - 1) / chunks + kTolerance);
      EXPECT_GE(bubble_s, published_s + (missing > 0 ? kTolerance : -kTolerance));
    }
  }
}

TEST(Simulate, SumsIdleTimeOverStages) {
  const Schedule schedule = make_schedule(ScheduleKind::gpipe, 2, 1);
  Timing timing = uniform_timing(schedule, {1, 1, 1});
  timing.durations[1][0] = {2, 3, 4};
  const Simulation simulation = simulate(schedule, timing);
  EXPECT_NEAR(simulation.makespan_s, 12, kTolerance);  // 1 forward, 2 + 3 + 4 on the other stage, 2 backward
  EXPECT_NEAR(simulation.idle_share[0], 9.0 / 12, kTolerance);
  EXPECT_NEAR(simulation.idle_share[1], 3.0 / 12, kTolerance);
  EXPECT_NEAR(simulation.bubble_share, 6.0 / 12, kTolerance);
  EXPECT_NEAR(simulation.bubble_s, 9, kTolerance);
}

TEST(Simulate, CountsTransfersThatNobodyComputesBeside) {
  // One micro-batch: there is nothing to do during its 2 (p - 1) transfers.
  EXPECT_NEAR(run(ScheduleKind::one_forward_one_backward, 1, {1, 1, 1}, 1, 0.25).makespan_s, 12 + 6 * 0.25, kTolerance);
  // Many: only the first way there and the last way back are seen of gpipe's, all others are overlapped.
  EXPECT_NEAR(run(ScheduleKind::gpipe, kMany, {1, 1, 1}, 1, 0.25).makespan_s, 3 * kMany + 9 + 6 * 0.25, kTolerance);
}

TEST(Simulate, BeginsATransferWhenBothSidesHaveStartedIt) {
  const Schedule schedule = make_schedule(ScheduleKind::gpipe, 2, 2);
  const Simulation simulation = simulate(schedule, uniform_timing(schedule, {1, 1, 1}, 0.5));
  const auto find = [&](int stage, const Action& action) {
    return *std::find_if(simulation.events.begin(), simulation.events.end(),
                         [&](const SimulatedEvent& event) { return event.stage == stage && event.action == action; });
  };
  const SimulatedEvent send = find(0, {ActionKind::send_output, 1});
  EXPECT_NEAR(send.begin_s, 2, kTolerance);
  EXPECT_NEAR(send.end_s, 2.5, kTolerance);
  const SimulatedEvent receive = find(1, {ActionKind::receive_input, 1});
  EXPECT_NEAR(receive.begin_s, 0, kTolerance);
  EXPECT_NEAR(receive.end_s, 2.5, kTolerance);
  EXPECT_NEAR(find(1, {ActionKind::forward, 1}).begin_s, 2.5, kTolerance);
}

TEST(Simulate, NeverComputesTwoThingsAtATimeNorBeforeItsInputIsThere) {
  for (const Schedule& schedule : all_schedules(4, 7)) {
    const double transfer_s = 0.125;
    const Simulation simulation = simulate(schedule, uniform_timing(schedule, {1, 1.5, 0.75}, transfer_s));
    const auto end_of = [&](const Neighbour& who, std::initializer_list<ActionKind> kinds, std::int64_t micro_batch) {
      for (const SimulatedEvent& event : simulation.events) {
        const bool meant = std::find(kinds.begin(), kinds.end(), event.action.kind) != kinds.end();
        if (meant && event.stage == who.stage && event.action.chunk == who.chunk &&
            event.action.micro_batch == micro_batch) {
          return event.end_s;
        }
      }
      return -1.0;
    };
    int stage = -1;
    double free_s = 0;
    for (const SimulatedEvent& event : simulation.events) {
      if (event.stage != stage) free_s = 0;
      stage = event.stage;
      if (!is_compute(event.action.kind)) continue;
      ASSERT_GE(event.begin_s, free_s) << words(schedule);
      free_s = event.end_s;
      const auto upper = before(schedule.stages, stage, event.action.chunk);
      const auto lower = after(schedule.stages, schedule.chunks, stage, event.action.chunk);
      if (event.action.kind == ActionKind::forward && upper) {
        ASSERT_GE(event.begin_s, end_of(*upper, {ActionKind::forward}, event.action.micro_batch) + transfer_s);
      }
      if (event.action.kind != ActionKind::forward && lower) {
        const double made_s =
            end_of(*lower, {ActionKind::backward, ActionKind::backward_input}, event.action.micro_batch);
        ASSERT_GE(event.begin_s, made_s + transfer_s) << words(schedule);
      }
    }
  }
}

using Holder = std::pair<int, std::int64_t>;  // chunk, micro-batch

/// When the sends of a stage's chunks and micro-batches are through.
std::map<Holder, double> ends_of_sends(const Simulation& simulation, int stage) {
  std::map<Holder, double> ends;
  for (const SimulatedEvent& event : simulation.events) {
    const ActionKind kind = event.action.kind;
    if (event.stage != stage || (kind != ActionKind::send_output && kind != ActionKind::send_gradient)) continue;
    double& end_s = ends[{event.action.chunk, event.action.micro_batch}];
    end_s = std::max(end_s, event.end_s);
  }
  return ends;
}

TEST(Simulate, TakesASlotWhenTheSendsOfItsLastHolderAreThroughWhicheverChunkThatWasOf) {
  for (const Schedule& schedule : all_schedules(4, 7)) {
    const Simulation simulation = simulate(schedule, uniform_timing(schedule, {1, 1.5, 0.75}, 0.25));
    for (int stage = 0; stage < schedule.stages; ++stage) {
      const Slots slots = assign_slots(schedule.actions[static_cast<std::size_t>(stage)]);
      std::map<Holder, double> sent_s = ends_of_sends(simulation, stage);
      std::map<int, Holder> holders;  // by slot
      for (const SimulatedEvent& event : simulation.events) {
        const Action& action = event.action;
        const bool takes = action.kind == ActionKind::receive_input || action.kind == ActionKind::forward;
        if (event.stage != stage || !takes) continue;
        const Holder here{action.chunk, action.micro_batch};
        const int slot =
            slots.activation[static_cast<std::size_t>(action.chunk)][static_cast<std::size_t>(action.micro_batch)];
        const auto [last, is_first] = holders.try_emplace(slot, here);
        const bool was_held = !is_first && last->second != here;
        ASSERT_GE(event.begin_s, was_held ? sent_s[last->second] : 0) << words(schedule);
        last->second = here;
      }
    }
  }
}

TEST(Simulate, GivesThePeakOfActivations) {
  EXPECT_EQ(run(ScheduleKind::one_forward_one_backward, kMany, {}).peak_live, (std::vector<std::int64_t>{4, 3, 2, 1}));
}

}  // namespace
}  // namespace trireme::pipeline
