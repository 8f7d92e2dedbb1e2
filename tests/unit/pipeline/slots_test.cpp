#include "trireme/pipeline/slots.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "unit/pipeline/schedules.hpp"

namespace trireme::pipeline {
namespace {

/// From where to where in the list a micro-batch of a chunk holds its slot, found without assign_slots().
struct Hold {
  std::size_t begin = 0;
  std::size_t end = 0;
};

template <class Wanted>
Hold hold_of(const ActionList& actions, int chunk, std::int64_t micro_batch, const Wanted& wanted) {
  Hold hold{actions.size(), 0};
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].chunk != chunk || actions[i].micro_batch != micro_batch || !wanted(actions[i].kind)) continue;
    hold.begin = std::min(hold.begin, i);
    hold.end = std::max(hold.end, i);
  }
  return hold;
}

struct Entry {
  int slot = 0;
  Hold hold;
};

std::vector<Entry> entries(const ActionList& actions, const std::vector<std::vector<int>>& table, bool gradients) {
  std::vector<Entry> result;
  for (std::size_t chunk = 0; chunk < table.size(); ++chunk) {
    for (std::size_t i = 0; i < table[chunk].size(); ++i) {
      const auto wanted = [gradients](ActionKind kind) {
        return !gradients || kind == ActionKind::backward_input || kind == ActionKind::backward_weight ||
               kind == ActionKind::backward;
      };
      result.push_back(
          {table[chunk][i], hold_of(actions, static_cast<int>(chunk), static_cast<std::int64_t>(i), wanted)});
    }
  }
  return result;
}

void expect_no_two_in_one_slot(const std::vector<Entry>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_GE(all[i].slot, 0);
    for (std::size_t j = 0; j < i; ++j) {
      const bool apart = all[i].hold.end < all[j].hold.begin || all[j].hold.end < all[i].hold.begin;
      ASSERT_TRUE(apart || all[i].slot != all[j].slot);
    }
  }
}

/// The most that are held at any place of the list.
int most_at_once(const std::vector<Entry>& all, std::size_t places) {
  int most = 0;
  for (std::size_t place = 0; place < places; ++place) {
    const auto count = std::count_if(all.begin(), all.end(), [place](const Entry& entry) {
      return entry.hold.begin <= place && place <= entry.hold.end;
    });
    most = std::max(most, static_cast<int>(count));
  }
  return most;
}

TEST(Slots, AreNeverSharedAndNeverMoreThanNeeded) {
  for (const Schedule& schedule : all_schedules(5, 9)) {
    SCOPED_TRACE(words(schedule));
    for (const ActionList& actions : schedule.actions) {
      const Slots slots = assign_slots(actions);
      const auto shared = entries(actions, slots.activation, false);
      expect_no_two_in_one_slot(shared);
      ASSERT_EQ(slots.peak_live, most_at_once(shared, actions.size()));
      const auto gradients = entries(actions, slots.gradient, true);
      expect_no_two_in_one_slot(gradients);
      ASSERT_EQ(slots.num_gradients, most_at_once(gradients, actions.size()));
    }
  }
}

TEST(Slots, AreAsManyAsPublished) {
  for (const int stages : {2, 4, 8}) {
    for (int stage = 0; stage < stages; ++stage) {
      const auto live = [&](ScheduleKind kind, int chunks) {
        const Schedule schedule = make_schedule(kind, stages, 4 * stages, chunks);
        return assign_slots(schedule.actions[static_cast<std::size_t>(stage)]).peak_live;
      };
      EXPECT_EQ(live(ScheduleKind::naive, 1), 1);
      EXPECT_EQ(live(ScheduleKind::gpipe, 1), 4 * stages);
      EXPECT_EQ(live(ScheduleKind::one_forward_one_backward, 1), stages - stage);
      EXPECT_EQ(live(ScheduleKind::interleaved, 3), 2 * (stages - stage - 1) + 2 * stages + 1);
      EXPECT_EQ(live(ScheduleKind::zero_bubble, 1), stages);
      EXPECT_EQ(live(ScheduleKind::zero_bubble_h2, 1), 2 * stages - 1);
    }
  }
}

TEST(Slots, AreNoMoreThanComputingAloneWouldNeed) {
  for (const Schedule& schedule : all_schedules(5, 12)) {
    for (ActionList actions : schedule.actions) {
      const Slots with_transfers = assign_slots(actions);
      std::erase_if(actions, [](const Action& action) { return !is_compute(action.kind); });
      const Slots alone = assign_slots(actions);
      ASSERT_EQ(with_transfers.peak_live, alone.peak_live) << words(schedule);
    }
  }
}

TEST(Slots, OfGradientsAreAsManyAsWeightPassesLag) {
  for (int stage = 0; stage < 4; ++stage) {
    const auto gradients = [stage](ScheduleKind kind) {
      return assign_slots(make_schedule(kind, 4, 16).actions[static_cast<std::size_t>(stage)]).num_gradients;
    };
    EXPECT_EQ(gradients(ScheduleKind::one_forward_one_backward), 1);
    EXPECT_EQ(gradients(ScheduleKind::zero_bubble), stage + 1);
    EXPECT_EQ(gradients(ScheduleKind::zero_bubble_h2), 2 * stage + 1);
  }
}

TEST(Slots, AreKeptUntilTheGradientIsOnItsWay) {
  using enum ActionKind;
  const ActionList late_send{{receive_input, 0}, {forward, 0}, {backward, 0}, {receive_input, 1},
                             {send_gradient, 0}, {forward, 1}, {backward, 1}, {send_gradient, 1}};
  EXPECT_EQ(assign_slots(late_send).activation[0], (std::vector<int>{0, 1}));
}

TEST(Slots, OfNoActionsAreNone) {
  const Slots slots = assign_slots({});
  EXPECT_TRUE(slots.activation.empty());
  EXPECT_EQ(slots.peak_live, 0);
  EXPECT_EQ(slots.num_gradients, 0);
}

}  // namespace
}  // namespace trireme::pipeline
