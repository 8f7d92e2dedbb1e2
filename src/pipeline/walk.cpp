#include "pipeline/walk.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "trireme/pipeline/slots.hpp"

namespace trireme::pipeline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double duration_of(ActionKind kind, const Durations& durations) {
  if (kind == ActionKind::forward) return durations.forward_s;
  if (kind == ActionKind::backward_input) return durations.backward_input_s;
  if (kind == ActionKind::backward_weight) return durations.backward_weight_s;
  if (kind == ActionKind::backward) return durations.backward_input_s + durations.backward_weight_s;
  return 0;
}

struct Holder {
  int chunk = 0;
  std::int64_t micro_batch = 0;
  bool operator==(const Holder&) const = default;
};

/// Who had the activation slot before that a (chunk, micro-batch) takes.
class LastHolders {
 public:
  explicit LastHolders(const ActionList& actions) {
    const std::vector<std::vector<int>> slot_of = assign_slots(actions).activation;
    for (const auto& chunk : slot_of) last_.emplace_back(chunk.size());
    std::map<int, Holder> now;  // by slot
    for (const Action& action : actions) {
      if (action.kind != ActionKind::receive_input && action.kind != ActionKind::forward) continue;
      const Holder here{action.chunk, action.micro_batch};
      const int slot = slot_of[static_cast<std::size_t>(action.chunk)][static_cast<std::size_t>(action.micro_batch)];
      const auto [holder, is_new] = now.try_emplace(slot, here);
      if (is_new || holder->second == here) continue;
      last_[static_cast<std::size_t>(here.chunk)][static_cast<std::size_t>(here.micro_batch)] = holder->second;
      holder->second = here;
    }
  }

  /// None for the first one in its slot.
  [[nodiscard]] const std::optional<Holder>& before(const Action& action) const {
    return last_[static_cast<std::size_t>(action.chunk)][static_cast<std::size_t>(action.micro_batch)];
  }

 private:
  std::vector<std::vector<std::optional<Holder>>> last_;  ///< [chunk][micro_batch]
};

struct Message {
  double sent_s = kNever;
  double posted_s = kNever;
};

class Walker {
 public:
  Walker(const Schedule& schedule, const Timing& timing)
      : schedule_(schedule), timing_(timing), clock_s_(static_cast<std::size_t>(schedule.stages), 0) {
    const auto virtual_stages = static_cast<std::size_t>(schedule.stages * schedule.chunks);
    outputs_.assign(virtual_stages, std::vector<Message>(static_cast<std::size_t>(schedule.micro_batches)));
    gradients_ = outputs_;
    events_.resize(clock_s_.size());
    for (const ActionList& actions : schedule.actions) last_holders_.emplace_back(actions);
  }

  std::vector<std::vector<SimulatedEvent>> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int stage = 0; stage < schedule_.stages; ++stage) {
        while (step(stage)) moved = true;
      }
    }
    for (int stage = 0; stage < schedule_.stages; ++stage) end_transfers(stage);
    return events_;
  }

 private:
  std::vector<SimulatedEvent>& events(int stage) { return events_[static_cast<std::size_t>(stage)]; }

  /// The message between virtual stage `upper` and the one after it.
  static Message& of(std::vector<std::vector<Message>>& messages, int upper, std::int64_t micro_batch) {
    return messages[static_cast<std::size_t>(upper)][static_cast<std::size_t>(micro_batch)];
  }
  double arrival_s(const Message& message) const {
    return std::max(message.sent_s, message.posted_s) + timing_.transfer_s;
  }
  int virtual_stage(int stage, int chunk) const { return chunk * schedule_.stages + stage; }
  bool is_first(int virtual_stage) const { return virtual_stage == 0; }
  bool is_last(int virtual_stage) const { return virtual_stage == schedule_.stages * schedule_.chunks - 1; }

  /// Runs the stage's next action if all that it waits for is known.
  bool step(int stage) {
    const ActionList& actions = schedule_.actions[static_cast<std::size_t>(stage)];
    if (events(stage).size() == actions.size()) return false;
    const Action& action = actions[events(stage).size()];
    double& clock_s = clock_s_[static_cast<std::size_t>(stage)];
    const double begin_s = std::max(clock_s, ready_s(stage, action));
    if (begin_s == kNever) return false;
    const Durations& durations =
        timing_.durations[static_cast<std::size_t>(stage)][static_cast<std::size_t>(action.chunk)];
    clock_s = begin_s + duration_of(action.kind, durations);
    if (!is_compute(action.kind)) start_transfer(stage, action, begin_s);
    events(stage).push_back({stage, action, begin_s, clock_s});
    return true;
  }

  double ready_s(int stage, const Action& action) {
    const int here = virtual_stage(stage, action.chunk);
    switch (action.kind) {
      case ActionKind::receive_input:
        return slot_free_s(stage, action);
      case ActionKind::forward:
        return is_first(here) ? slot_free_s(stage, action) : arrival_s(of(outputs_, here - 1, action.micro_batch));
      case ActionKind::backward_input:
      case ActionKind::backward:
        return is_last(here) ? 0 : arrival_s(of(gradients_, here, action.micro_batch));
      case ActionKind::receive_gradient:
      case ActionKind::backward_weight:
      case ActionKind::send_output:
      case ActionKind::send_gradient:
        return 0;
    }
    return 0;
  }

  double slot_free_s(int stage, const Action& action) {
    const std::optional<Holder>& last = last_holders_[static_cast<std::size_t>(stage)].before(action);
    if (!last) return 0;
    const int here = virtual_stage(stage, last->chunk);
    const double output_s = is_last(here) ? 0 : arrival_s(of(outputs_, here, last->micro_batch));
    const double gradient_s = is_first(here) ? 0 : arrival_s(of(gradients_, here - 1, last->micro_batch));
    return std::max(output_s, gradient_s);
  }

  Message& message_of(int stage, const Action& action) {
    const int here = virtual_stage(stage, action.chunk);
    switch (action.kind) {
      case ActionKind::receive_input:
        return of(outputs_, here - 1, action.micro_batch);
      case ActionKind::send_gradient:
        return of(gradients_, here - 1, action.micro_batch);
      case ActionKind::send_output:
        return of(outputs_, here, action.micro_batch);
      default:
        return of(gradients_, here, action.micro_batch);
    }
  }

  void start_transfer(int stage, const Action& action, double begin_s) {
    const bool sends = action.kind == ActionKind::send_output || action.kind == ActionKind::send_gradient;
    Message& message = message_of(stage, action);
    (sends ? message.sent_s : message.posted_s) = begin_s;
  }

  void end_transfers(int stage) {
    for (SimulatedEvent& event : events(stage)) {
      if (is_compute(event.action.kind)) continue;
      event.end_s = arrival_s(message_of(stage, event.action));
    }
  }

  const Schedule& schedule_;
  const Timing& timing_;
  std::vector<double> clock_s_;                      ///< by stage
  std::vector<std::vector<Message>> outputs_;        ///< [virtual stage that sends][micro-batch]
  std::vector<std::vector<Message>> gradients_;      ///< [virtual stage that receives][micro-batch]
  std::vector<LastHolders> last_holders_;            ///< by stage
  std::vector<std::vector<SimulatedEvent>> events_;  ///< by stage
};

}  // namespace

std::vector<std::vector<SimulatedEvent>> walk(const Schedule& schedule, const Timing& timing) {
  return Walker(schedule, timing).run();
}

}  // namespace trireme::pipeline
