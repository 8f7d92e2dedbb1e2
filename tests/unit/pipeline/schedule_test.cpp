#include "trireme/pipeline/schedule.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

#include "unit/pipeline/schedules.hpp"

namespace trireme::pipeline {
namespace {

/// The compute actions of a stage in the letters of the papers: F, B (input pass), W, D (both passes); c and d are
/// forward and backward of the second chunk.
std::string compute(const Schedule& schedule, int stage) {
  std::string text;
  for (const Action& action : schedule.actions[static_cast<std::size_t>(stage)]) {
    if (!is_compute(action.kind)) continue;
    std::string letter = action.kind == ActionKind::forward          ? "F"
                         : action.kind == ActionKind::backward       ? "D"
                         : action.kind == ActionKind::backward_input ? "B"
                                                                     : "W";
    if (action.chunk == 1) letter = action.kind == ActionKind::forward ? "f" : "d";
    text += (text.empty() ? "" : " ") + letter + std::to_string(action.micro_batch);
  }
  return text;
}

TEST(Schedule, NaiveHasOneMicroBatchInFlight) {
  const Schedule schedule = make_schedule(ScheduleKind::naive, 3, 2);
  for (int stage = 0; stage < 3; ++stage) EXPECT_EQ(compute(schedule, stage), "F0 D0 F1 D1");
}

TEST(Schedule, OfAStageAloneIsThatOfTheStageAmongAll) {
  for (const Schedule& schedule : all_schedules(4, 6)) {
    for (int stage = 0; stage < schedule.stages; ++stage) {
      ASSERT_EQ(make_stage_actions(schedule, stage), schedule.actions[static_cast<std::size_t>(stage)])
          << words(schedule);
    }
  }
  EXPECT_THROW(static_cast<void>(make_stage_actions({.stages = 2, .chunks = 2}, 0)), InputError);
}

TEST(Schedule, GpipeGoesForwardWithAllBeforeItGoesBack) {
  EXPECT_EQ(compute(make_schedule(ScheduleKind::gpipe, 2, 3), 1), "F0 F1 F2 D0 D1 D2");
}

TEST(Schedule, OneForwardOneBackwardWarmsUpByTheStagesAfterIt) {
  const Schedule schedule = make_schedule(ScheduleKind::one_forward_one_backward, 3, 4);
  EXPECT_EQ(compute(schedule, 0), "F0 F1 F2 D0 F3 D1 D2 D3");
  EXPECT_EQ(compute(schedule, 1), "F0 F1 D0 F2 D1 F3 D2 D3");
  EXPECT_EQ(compute(schedule, 2), "F0 D0 F1 D1 F2 D2 F3 D3");
}

TEST(Schedule, InterleavedTakesChunksInTurnsOfAsManyMicroBatchesAsStages) {
  const Schedule schedule = make_schedule(ScheduleKind::interleaved, 2, 4, 2);
  EXPECT_EQ(compute(schedule, 0), "F0 F1 f0 f1 F2 d0 F3 d1 f2 D0 f3 D1 d2 d3 D2 D3");
  EXPECT_EQ(compute(schedule, 1), "F0 F1 f0 d0 f1 d1 F2 D0 F3 D1 f2 d2 f3 d3 D2 D3");
}

TEST(Schedule, InterleavedLeavesOutWhatTheLastTurnLacks) {
  EXPECT_EQ(compute(make_schedule(ScheduleKind::interleaved, 2, 3, 2), 1), "F0 F1 f0 d0 f1 d1 F2 D0 D1 f2 d2 D2");
}

TEST(Schedule, InterleavedOfOneChunkIsOneForwardOneBackward) {
  for (const int stages : {1, 2, 5}) {
    EXPECT_EQ(make_schedule(ScheduleKind::interleaved, stages, 7, 1).actions,
              make_schedule(ScheduleKind::one_forward_one_backward, stages, 7).actions);
  }
}

TEST(Schedule, ZeroBubbleDelaysWeightPassesByTheStage) {
  const Schedule schedule = make_schedule(ScheduleKind::zero_bubble, 3, 4);
  EXPECT_EQ(compute(schedule, 0), "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  EXPECT_EQ(compute(schedule, 1), "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3");
  EXPECT_EQ(compute(schedule, 2), "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
}

TEST(Schedule, ZeroBubbleH2WarmsUpTwiceAsLong) {
  const Schedule schedule = make_schedule(ScheduleKind::zero_bubble_h2, 3, 6);
  EXPECT_EQ(compute(schedule, 0), "F0 F1 F2 F3 F4 B0 W0 F5 B1 W1 B2 W2 B3 W3 B4 W4 B5 W5");
  EXPECT_EQ(compute(schedule, 2), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 W0 F5 B5 W1 W2 W3 W4 W5");
}

TEST(Schedule, OfOneStageHasNoTransfers) {
  for (const ScheduleKind kind : kAllSchedules) {
    const Schedule schedule = make_schedule(kind, 1, 5);
    EXPECT_TRUE(std::all_of(schedule.actions[0].begin(), schedule.actions[0].end(),
                            [](const Action& action) { return is_compute(action.kind); }));
  }
}

TEST(Schedule, PostsReceivesAsEarlyAsTheirMemoryIsFree) {
  using enum ActionKind;
  const Schedule schedule = make_schedule(ScheduleKind::one_forward_one_backward, 3, 3);
  const ActionList first{{forward, 0},          {send_output, 0},      {receive_gradient, 0}, {forward, 1},
                         {send_output, 1},      {receive_gradient, 1}, {forward, 2},          {send_output, 2},
                         {receive_gradient, 2}, {backward, 0},         {backward, 1},         {backward, 2}};
  const ActionList middle{{receive_input, 0},    {receive_input, 1},    {forward, 0},       {send_output, 0},
                          {receive_gradient, 0}, {forward, 1},          {send_output, 1},   {receive_gradient, 1},
                          {backward, 0},         {send_gradient, 0},    {receive_input, 2}, {forward, 2},
                          {send_output, 2},      {receive_gradient, 2}, {backward, 1},      {send_gradient, 1},
                          {backward, 2},         {send_gradient, 2}};
  EXPECT_EQ(schedule.actions[0], first);
  EXPECT_EQ(schedule.actions[1], middle);
}

TEST(Schedule, PostsReceivesOfInputsOneForwardAhead) {
  using enum ActionKind;
  const Schedule schedule = make_schedule(ScheduleKind::gpipe, 2, 3);
  const ActionList forwards{{receive_input, 0}, {receive_input, 1}, {forward, 0},
                            {receive_input, 2}, {forward, 1},       {forward, 2}};
  ASSERT_GE(schedule.actions[1].size(), forwards.size());
  EXPECT_EQ(ActionList(schedule.actions[1].begin(), schedule.actions[1].begin() + 6), forwards);
}

TEST(Schedule, KnowsTheNeighboursOfAChunk) {
  EXPECT_EQ(before(3, 0, 0), std::nullopt);
  EXPECT_EQ(before(3, 0, 1), (Neighbour{2, 0}));
  EXPECT_EQ(before(3, 2, 1), (Neighbour{1, 1}));
  EXPECT_EQ(after(3, 2, 1, 0), (Neighbour{2, 0}));
  EXPECT_EQ(after(3, 2, 2, 0), (Neighbour{0, 1}));
  EXPECT_EQ(after(3, 2, 2, 1), std::nullopt);
}

TEST(Schedule, IsNamedAsInTheDeck) {
  for (const char* text : {"naive", "gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_h2"}) {
    ASSERT_TRUE(schedule_kind(text).has_value()) << text;
    EXPECT_EQ(name(*schedule_kind(text)), text);
  }
  EXPECT_EQ(schedule_kind("zero-bubble"), std::nullopt);
  EXPECT_EQ(name(ActionKind::backward_weight), "backward_weight");
}

std::string refusal(ScheduleKind kind, int stages, std::int64_t micro_batches, int chunks) {
  try {
    (void)make_schedule(kind, stages, micro_batches, chunks);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Schedule, IsRefusedWhereThereIsNone) {
  EXPECT_THAT(refusal(ScheduleKind::gpipe, 0, 4, 1), testing::HasSubstr("`0` stages"));
  EXPECT_THAT(refusal(ScheduleKind::gpipe, 2, 0, 1), testing::HasSubstr("`0` micro-batches"));
  EXPECT_THAT(refusal(ScheduleKind::zero_bubble, 2, 4, 2),
              testing::HasSubstr("schedule `zero_bubble` cannot have `2` chunks"));
  EXPECT_THAT(refusal(ScheduleKind::interleaved, 1, 4, 2), testing::HasSubstr("grid.pipeline"));
}

}  // namespace
}  // namespace trireme::pipeline
