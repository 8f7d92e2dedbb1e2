#include "trireme/pipeline/check.hpp"

#include <algorithm>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/text.hpp"

#include "unit/pipeline/schedules.hpp"

namespace trireme::pipeline {
namespace {

using testing::HasSubstr;

std::string problems(const Schedule& schedule) {
  return join(check(schedule), "; ");
}

/// Small schedules of every kind, to be broken in every place.
std::vector<Schedule> samples() {
  std::vector<Schedule> schedules;
  for (const ScheduleKind kind : kAllSchedules) schedules.push_back(make_schedule(kind, 3, 4));
  schedules.push_back(make_schedule(ScheduleKind::interleaved, 2, 3, 2));
  schedules.push_back(make_schedule(ScheduleKind::interleaved, 3, 5, 2));
  return schedules;
}

/// Calls `function(schedule, list)` for each list of each sample, with a fresh copy of the sample each time; `list` is
/// the list inside that copy, `place` a place in it.
template <class Function>
void at_every_place(const Function& function) {
  for (const Schedule& sample : samples()) {
    for (std::size_t stage = 0; stage < sample.actions.size(); ++stage) {
      for (std::size_t place = 0; place < sample.actions[stage].size(); ++place) {
        SCOPED_TRACE(words(sample) + ", stage " + std::to_string(stage) + ", place " + std::to_string(place));
        Schedule broken = sample;
        function(broken, broken.actions[stage], place);
      }
    }
  }
}

TEST(Check, FindsNothingInAnySchedule) {
  for (const Schedule& schedule : all_schedules(8, 20)) ASSERT_EQ(problems(schedule), "") << words(schedule);
}

TEST(Check, FindsNothingInLongSchedules) {
  for (const ScheduleKind kind : kAllSchedules) {
    for (int stages = 1; stages <= 8; ++stages) {
      const int chunks = kind == ScheduleKind::interleaved && stages > 1 ? 4 : 1;
      const Schedule schedule = make_schedule(kind, stages, 64, chunks);
      ASSERT_EQ(problems(schedule), "") << words(schedule);
    }
  }
}

TEST(Check, FindsEveryActionThatIsMissing) {
  at_every_place([](Schedule& schedule, ActionList& list, std::size_t place) {
    const Action missing = list[place];
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
    ASSERT_THAT(problems(schedule), HasSubstr(std::string(name(missing.kind))));
  });
}

TEST(Check, FindsEveryActionThatIsThereTwice) {
  at_every_place([](Schedule& schedule, ActionList& list, std::size_t place) {
    list.push_back(list[place]);
    ASSERT_THAT(problems(schedule), HasSubstr("is there 2 times instead of 1"));
  });
}

TEST(Check, FindsEveryActionOfAnotherMicroBatch) {
  at_every_place([](Schedule& schedule, ActionList& list, std::size_t place) {
    list[place].micro_batch = (list[place].micro_batch + 1) % schedule.micro_batches;
    ASSERT_NE(problems(schedule), "");
    list[place].micro_batch = schedule.micro_batches;
    ASSERT_THAT(problems(schedule), HasSubstr("no such micro-batch or chunk"));
  });
}

TEST(Check, FindsEveryActionOfAnotherKind) {
  at_every_place([](Schedule& schedule, ActionList& list, std::size_t place) {
    const auto kind = static_cast<int>(list[place].kind);
    for (int other = 0; other < 8; ++other) {
      list[place].kind = static_cast<ActionKind>(other);
      ASSERT_EQ(problems(schedule) == "", other == kind);
    }
  });
}

TEST(Check, FindsTwoMicroBatchesThatChangedPlaces) {
  at_every_place([](Schedule& schedule, ActionList& list, std::size_t place) {
    for (std::size_t other = 0; other < place; ++other) {
      if (list[other].kind != list[place].kind || list[other].chunk != list[place].chunk) continue;
      std::swap(list[other], list[place]);
      ASSERT_NE(problems(schedule), "");
      std::swap(list[other], list[place]);
    }
  });
}

TEST(Check, FindsActionsOfOneMicroBatchInTheWrongOrder) {
  at_every_place([](Schedule& schedule, ActionList& list, std::size_t place) {
    for (std::size_t other = 0; other < place; ++other) {
      if (list[other].micro_batch != list[place].micro_batch || list[other].chunk != list[place].chunk) continue;
      // These two may come in either order.
      const bool free = list[other].kind == ActionKind::send_output && list[place].kind == ActionKind::receive_gradient;
      const bool weight_first =
          list[other].kind == ActionKind::send_gradient && list[place].kind == ActionKind::backward_weight;
      if (free || weight_first) continue;
      std::swap(list[other], list[place]);
      ASSERT_NE(problems(schedule), "") << other;
      std::swap(list[other], list[place]);
    }
  });
}

TEST(Check, FindsStagesThatWaitForEachOther) {
  Schedule schedule = make_schedule(ScheduleKind::naive, 2, 2);
  schedule.actions[1] = make_schedule(ScheduleKind::gpipe, 2, 2).actions[1];
  EXPECT_EQ(problems(schedule),
            "stage 0: `backward` of micro-batch 0, chunk 0 waits forever; stage 1: `forward` of micro-batch 1, chunk 0 "
            "waits forever");
}

TEST(Check, FindsSendsThatNeedABuffer) {
  using enum ActionKind;
  // Stage 1 takes the slot of micro-batch 0 in chunk 0 again once the gradient of it is sent. Stage 0 receives that
  // only after a forward that waits for what stage 1 would make next: this ends only if the message is buffered.
  const ActionList first{
      {forward, 0, 0},     {send_output, 0, 0},      {receive_input, 0, 1},    {forward, 0, 1},
      {send_output, 0, 1}, {receive_gradient, 0, 1}, {backward, 0, 1},         {send_gradient, 0, 1},
      {forward, 1, 0},     {send_output, 1, 0},      {receive_input, 1, 1},    {forward, 1, 1},
      {send_output, 1, 1}, {receive_gradient, 0, 0}, {backward, 0, 0},         {receive_gradient, 1, 1},
      {backward, 1, 1},    {send_gradient, 1, 1},    {receive_gradient, 1, 0}, {backward, 1, 0}};
  ActionList second;
  for (const std::int64_t i : {0, 1}) {
    for (const Action& action : ActionList{{receive_input, i, 0},
                                           {forward, i, 0},
                                           {send_output, i, 0},
                                           {receive_gradient, i, 0},
                                           {receive_input, i, 1},
                                           {forward, i, 1},
                                           {backward, i, 1},
                                           {send_gradient, i, 1},
                                           {backward, i, 0},
                                           {send_gradient, i, 0}}) {
      second.push_back(action);
    }
  }
  Schedule schedule{ScheduleKind::interleaved, 2, 2, 2, {first, second}};
  EXPECT_THAT(problems(schedule), HasSubstr("stage 1: `receive_input` of micro-batch 1, chunk 0 waits forever"));
  ActionList& list = schedule.actions[0];
  const auto late = std::find(list.begin(), list.end(), Action{receive_gradient, 0, 0});
  std::rotate(list.begin() + 2, late, late + 1);
  EXPECT_EQ(problems(schedule), "");
}

TEST(Check, FindsMoreActivationsThanTheScheduleAllows) {
  Schedule schedule = make_schedule(ScheduleKind::gpipe, 3, 4);
  schedule.kind = ScheduleKind::one_forward_one_backward;
  EXPECT_THAT(problems(schedule), HasSubstr("stage 0 holds 4 activations at a time, `1f1b` allows 3"));
  schedule = make_schedule(ScheduleKind::zero_bubble_h2, 3, 8);
  schedule.kind = ScheduleKind::zero_bubble;
  EXPECT_THAT(problems(schedule), HasSubstr("stage 2 holds 5 activations at a time, `zero_bubble` allows 3"));
}

TEST(Check, FindsAReceiveThatTakesASlotTooEarly) {
  Schedule schedule = make_schedule(ScheduleKind::one_forward_one_backward, 2, 4);
  ActionList& list = schedule.actions[1];
  const auto receive = std::find(list.begin(), list.end(), Action{ActionKind::receive_input, 1, 0});
  std::rotate(list.begin(), receive, receive + 1);
  std::swap(list[0], list[1]);
  EXPECT_THAT(problems(schedule), HasSubstr("stage 1 holds 2 activations at a time, `1f1b` allows 1"));
}

TEST(Check, FindsAListTooFew) {
  Schedule schedule = make_schedule(ScheduleKind::gpipe, 3, 2);
  schedule.actions.pop_back();
  EXPECT_THAT(problems(schedule), HasSubstr("2 lists of actions for 3 stages"));
}

}  // namespace
}  // namespace trireme::pipeline
