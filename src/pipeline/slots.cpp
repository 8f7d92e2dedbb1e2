#include "trireme/pipeline/slots.hpp"

#include <algorithm>

namespace trireme::pipeline {
namespace {

/// Numbers that are handed out, the lowest free one first.
class Pool {
 public:
  int take() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto slot = free - taken_.begin();
    if (free == taken_.end()) taken_.push_back(false);
    taken_[static_cast<std::size_t>(slot)] = true;
    return static_cast<int>(slot);
  }
  void give_back(int slot) { taken_[static_cast<std::size_t>(slot)] = false; }
  [[nodiscard]] int size() const { return static_cast<int>(taken_.size()); }

 private:
  std::vector<bool> taken_;
};

class Assigner {
 public:
  explicit Assigner(const ActionList& actions) {
    std::size_t chunks = 0;
    std::size_t micro_batches = 0;
    for (const Action& action : actions) {
      chunks = std::max(chunks, static_cast<std::size_t>(action.chunk) + 1);
      micro_batches = std::max(micro_batches, static_cast<std::size_t>(action.micro_batch) + 1);
    }
    const std::vector<std::vector<int>> none(chunks, std::vector<int>(micro_batches, -1));
    slots_.activation = none;
    slots_.gradient = none;
    held_.resize(chunks, std::vector<int>(micro_batches, 0));
    for (const Action& action : actions) {
      if (ends_hold(action.kind)) ++held_by(action);
    }
  }

  Slots run(const ActionList& actions) {
    for (const Action& action : actions) step(action);
    slots_.num_gradients = gradients_.size();
    slots_.peak_live = activations_.size();
    return slots_;
  }

 private:
  static bool ends_hold(ActionKind kind) {
    return kind == ActionKind::backward || kind == ActionKind::backward_weight || kind == ActionKind::send_gradient;
  }
  static int& entry(std::vector<std::vector<int>>& table, const Action& action) {
    return table[static_cast<std::size_t>(action.chunk)][static_cast<std::size_t>(action.micro_batch)];
  }
  int& held_by(const Action& action) { return entry(held_, action); }

  void step(const Action& action) {
    switch (action.kind) {
      case ActionKind::receive_input:
      case ActionKind::forward:
        take_activation(action);
        break;
      case ActionKind::backward_input:
        take_gradient(action);
        break;
      case ActionKind::backward_weight:
        give_back_gradient(action);
        break;
      case ActionKind::backward:
        take_gradient(action);
        give_back_gradient(action);
        break;
      case ActionKind::receive_gradient:
      case ActionKind::send_output:
      case ActionKind::send_gradient:
        break;
    }
    if (ends_hold(action.kind) && --held_by(action) == 0) give_back_activation(action);
  }

  void take_activation(const Action& action) {
    int& slot = entry(slots_.activation, action);
    if (slot < 0) slot = activations_.take();
  }

  void give_back_activation(const Action& action) {
    const int slot = entry(slots_.activation, action);
    if (slot >= 0) activations_.give_back(slot);
  }

  void take_gradient(const Action& action) { entry(slots_.gradient, action) = gradients_.take(); }

  void give_back_gradient(const Action& action) {
    const int slot = entry(slots_.gradient, action);
    if (slot >= 0) gradients_.give_back(slot);
  }

  Slots slots_;
  Pool activations_;
  Pool gradients_;
  std::vector<std::vector<int>> held_;  ///< actions to come that still need the slot's contents
};

}  // namespace

Slots assign_slots(const ActionList& actions) {
  return Assigner(actions).run(actions);
}

}  // namespace trireme::pipeline
