#include "trireme/pipeline/check.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "trireme/pipeline/simulate.hpp"
#include "trireme/pipeline/slots.hpp"

#include "pipeline/walk.hpp"

namespace trireme::pipeline {
namespace {

constexpr std::int64_t kAbsent = -1;

std::string text(int stage, const Action& action) {
  return fmt::format("stage {}: `{}` of micro-batch {}, chunk {}", stage, name(action.kind), action.micro_batch,
                     action.chunk);
}

/// Where each action stands in the list of one stage, and how often.
class Places {
 public:
  explicit Places(const Schedule& schedule)
      : chunks_(schedule.chunks),
        micro_batches_(schedule.micro_batches),
        place_(static_cast<std::size_t>(kKinds * chunks_ * micro_batches_), kAbsent),
        count_(place_.size(), 0) {}

  [[nodiscard]] bool fits(const Action& action) const {
    return action.chunk >= 0 && action.chunk < chunks_ && action.micro_batch >= 0 &&
           action.micro_batch < micro_batches_;
  }
  void add(const Action& action, std::size_t place) {
    place_[index(action)] = static_cast<std::int64_t>(place);
    ++count_[index(action)];
  }
  [[nodiscard]] std::int64_t place(const Action& action) const { return place_[index(action)]; }
  [[nodiscard]] int count(const Action& action) const { return count_[index(action)]; }

 private:
  static constexpr std::int64_t kKinds = 8;
  [[nodiscard]] std::size_t index(const Action& action) const {
    const auto kind = static_cast<std::int64_t>(action.kind);
    return static_cast<std::size_t>((kind * chunks_ + action.chunk) * micro_batches_ + action.micro_batch);
  }

  std::int64_t chunks_;
  std::int64_t micro_batches_;
  std::vector<std::int64_t> place_;
  std::vector<int> count_;
};

class Checker {
 public:
  explicit Checker(const Schedule& schedule) : schedule_(schedule) {}

  /// Each group of checks relies on the ones before it.
  std::vector<std::string> run() {
    find_places();
    if (problems_.empty()) check_counts();
    if (problems_.empty()) check_order();
    if (problems_.empty()) check_matching();
    if (problems_.empty()) check_progress();
    if (problems_.empty()) check_live();
    return problems_;
  }

 private:
  static constexpr std::array kAllKinds{ActionKind::receive_input,  ActionKind::receive_gradient, ActionKind::forward,
                                        ActionKind::backward_input, ActionKind::backward_weight,  ActionKind::backward,
                                        ActionKind::send_output,    ActionKind::send_gradient};

  void find_places() {
    if (schedule_.actions.size() != static_cast<std::size_t>(schedule_.stages)) {
      problems_.push_back(fmt::format("{} lists of actions for {} stages", schedule_.actions.size(), schedule_.stages));
      return;
    }
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      Places places(schedule_);
      const ActionList& actions = list(stage);
      for (std::size_t i = 0; i < actions.size(); ++i) {
        if (places.fits(actions[i])) {
          places.add(actions[i], i);
        } else {
          problems_.push_back(text(stage, actions[i]) + ": no such micro-batch or chunk");
        }
      }
      places_.push_back(places);
    }
  }

  void check_counts() {
    for_each_chunk([this](int stage, int chunk, std::int64_t micro_batch) {
      const bool fused = places(stage).count({ActionKind::backward, micro_batch, chunk}) > 0;
      for (const ActionKind kind : kAllKinds) {
        const int expected = expected_count(kind, stage, chunk, fused);
        const int found = places(stage).count({kind, micro_batch, chunk});
        if (found == expected) continue;
        problems_.push_back(fmt::format("{} is there {} times instead of {}", text(stage, {kind, micro_batch, chunk}),
                                        found, expected));
      }
    });
  }

  int expected_count(ActionKind kind, int stage, int chunk, bool fused) const {
    const bool has_input = before(schedule_.stages, stage, chunk).has_value();
    const bool has_output = after(schedule_.stages, schedule_.chunks, stage, chunk).has_value();
    switch (kind) {
      case ActionKind::forward:
        return 1;
      case ActionKind::backward:
        return fused ? 1 : 0;
      case ActionKind::backward_input:
      case ActionKind::backward_weight:
        return fused ? 0 : 1;
      case ActionKind::receive_input:
      case ActionKind::send_gradient:
        return has_input ? 1 : 0;
      case ActionKind::receive_gradient:
      case ActionKind::send_output:
        return has_output ? 1 : 0;
    }
    return 0;
  }

  void check_order() {
    using enum ActionKind;
    for_each_chunk([this](int stage, int chunk, std::int64_t micro_batch) {
      for (const auto& chain : {std::initializer_list<ActionKind>{receive_input, forward, send_output},
                                {forward, receive_gradient, backward_input, backward_weight},
                                {receive_gradient, backward},
                                {forward, backward_input, send_gradient},
                                {forward, backward, send_gradient}}) {
        expect_ascending(stage, chain, chunk, micro_batch);
      }
      if (micro_batch == 0) return;
      for (const auto& passes :
           {std::initializer_list<ActionKind>{forward}, {backward_input, backward}, {backward_weight, backward}}) {
        expect_after_last(stage, passes, chunk, micro_batch);
      }
    });
  }

  /// Those of `chain` that are there come one after the other.
  void expect_ascending(int stage, std::initializer_list<ActionKind> chain, int chunk, std::int64_t micro_batch) {
    std::int64_t last = kAbsent;
    for (const ActionKind kind : chain) {
      const std::int64_t place = places(stage).place({kind, micro_batch, chunk});
      if (place == kAbsent) continue;
      if (place < last) {
        problems_.push_back(fmt::format("{} comes before {}", text(stage, {kind, micro_batch, chunk}),
                                        text(stage, list(stage)[static_cast<std::size_t>(last)])));
      }
      last = place;
    }
  }

  /// The pass of this micro-batch comes after that of the one before it, whichever kind each of them is.
  void expect_after_last(int stage, std::initializer_list<ActionKind> kinds, int chunk, std::int64_t micro_batch) {
    std::int64_t here = kAbsent;
    std::int64_t last = kAbsent;
    for (const ActionKind kind : kinds) {
      here = std::max(here, places(stage).place({kind, micro_batch, chunk}));
      last = std::max(last, places(stage).place({kind, micro_batch - 1, chunk}));
    }
    if (here > last) return;
    problems_.push_back(fmt::format("{} comes before that of micro-batch {}",
                                    text(stage, list(stage)[static_cast<std::size_t>(here)]), micro_batch - 1));
  }

  void check_matching() {
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      for (int chunk = 0; chunk < schedule_.chunks; ++chunk) {
        const auto to = after(schedule_.stages, schedule_.chunks, stage, chunk);
        if (!to) continue;
        expect_match({stage, chunk}, ActionKind::send_output, *to, ActionKind::receive_input);
        expect_match(*to, ActionKind::send_gradient, {stage, chunk}, ActionKind::receive_gradient);
      }
    }
  }

  void expect_match(Neighbour from, ActionKind send, Neighbour to, ActionKind receive) {
    const std::vector<std::int64_t> sent = micro_batches_of(from, send);
    const std::vector<std::int64_t> received = micro_batches_of(to, receive);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i] == received[i]) continue;
      problems_.push_back(fmt::format("{} meets {}", text(from.stage, {send, sent[i], from.chunk}),
                                      text(to.stage, {receive, received[i], to.chunk})));
      return;
    }
  }

  [[nodiscard]] std::vector<std::int64_t> micro_batches_of(Neighbour of, ActionKind kind) const {
    std::vector<std::int64_t> result;
    for (const Action& action : list(of.stage)) {
      if (action.kind == kind && action.chunk == of.chunk) result.push_back(action.micro_batch);
    }
    return result;
  }

  void check_progress() {
    const auto events = walk(schedule_, uniform_timing(schedule_, {}));
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      const auto& done = events[static_cast<std::size_t>(stage)];
      if (done.size() < list(stage).size()) {
        problems_.push_back(text(stage, list(stage)[done.size()]) + " waits forever");
      }
    }
  }

  void check_live() {
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      const std::int64_t live = assign_slots(list(stage)).peak_live;
      const std::int64_t bound =
          live_bound(schedule_.kind, schedule_.stages, schedule_.micro_batches, schedule_.chunks, stage);
      if (live <= bound) continue;
      problems_.push_back(fmt::format("stage {} holds {} activations at a time, `{}` allows {}", stage, live,
                                      name(schedule_.kind), bound));
    }
  }

  template <class Function>
  void for_each_chunk(const Function& function) {
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      for (int chunk = 0; chunk < schedule_.chunks; ++chunk) {
        for (std::int64_t i = 0; i < schedule_.micro_batches; ++i) function(stage, chunk, i);
      }
    }
  }
  [[nodiscard]] const ActionList& list(int stage) const { return schedule_.actions[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] const Places& places(int stage) const { return places_[static_cast<std::size_t>(stage)]; }

  const Schedule& schedule_;
  std::vector<Places> places_;  ///< by stage
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check(const Schedule& schedule) {
  return Checker(schedule).run();
}

}  // namespace trireme::pipeline
