#include "pipeline/transfers.hpp"

#include <algorithm>

namespace trireme::pipeline {
namespace {

bool releases(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::backward_weight;
}

/// Activations alive, by chunk and in the whole stage.
class Live {
 public:
  explicit Live(int chunks) : of_chunk_(static_cast<std::size_t>(chunks), 0) {}
  std::int64_t& of_chunk(int chunk) { return of_chunk_[static_cast<std::size_t>(chunk)]; }
  std::int64_t& of_stage() { return of_stage_; }
  void add(int chunk, std::int64_t count) {
    of_chunk(chunk) += count;
    of_stage_ += count;
  }
  void raise_to(Live& other) {
    for (std::size_t chunk = 0; chunk < of_chunk_.size(); ++chunk) {
      of_chunk_[chunk] = std::max(of_chunk_[chunk], other.of_chunk_[chunk]);
    }
    of_stage_ = std::max(of_stage_, other.of_stage_);
  }

 private:
  std::vector<std::int64_t> of_chunk_;
  std::int64_t of_stage_ = 0;
};

Live peak_of(const ActionList& compute, int chunks) {
  Live live(chunks);
  Live peak(chunks);
  for (const Action& action : compute) {
    if (action.kind == ActionKind::forward) live.add(action.chunk, 1);
    if (releases(action.kind)) live.add(action.chunk, -1);
    peak.raise_to(live);
  }
  return peak;
}

class Inserter {
 public:
  Inserter(const ActionList& compute, int stages, int chunks, int stage)
      : compute_(compute),
        stages_(stages),
        chunks_(chunks),
        stage_(stage),
        live_(chunks),
        peak_(peak_of(compute, chunks)) {
    std::copy_if(compute.begin(), compute.end(), std::back_inserter(forwards_),
                 [](const Action& action) { return action.kind == ActionKind::forward; });
  }

  ActionList run() {
    for (const Action& action : compute_) {
      post_inputs();
      list_.push_back(action);
      add_sends(action);
      if (action.kind == ActionKind::forward) ++forwards_done_;
      if (releases(action.kind)) live_.add(action.chunk, -1);
    }
    return list_;
  }

 private:
  /// Takes the slots of the next forward and of the one after it, where there are free ones.
  void post_inputs() {
    for (; slots_taken_ < std::min(forwards_.size(), forwards_done_ + 2); ++slots_taken_) {
      const Action& next = forwards_[slots_taken_];
      if (live_.of_stage() == peak_.of_stage() || live_.of_chunk(next.chunk) == peak_.of_chunk(next.chunk)) return;
      live_.add(next.chunk, 1);
      if (before(stages_, stage_, next.chunk)) {
        list_.push_back({ActionKind::receive_input, next.micro_batch, next.chunk});
      }
    }
  }

  void add_sends(const Action& made) {
    const bool input_pass = made.kind == ActionKind::backward || made.kind == ActionKind::backward_input;
    if (made.kind == ActionKind::forward && after(stages_, chunks_, stage_, made.chunk)) {
      list_.push_back({ActionKind::send_output, made.micro_batch, made.chunk});
      list_.push_back({ActionKind::receive_gradient, made.micro_batch, made.chunk});
    }
    if (input_pass && before(stages_, stage_, made.chunk)) {
      list_.push_back({ActionKind::send_gradient, made.micro_batch, made.chunk});
    }
  }

  const ActionList& compute_;
  int stages_;
  int chunks_;
  int stage_;
  Live live_;
  Live peak_;
  ActionList forwards_;
  std::size_t forwards_done_ = 0;
  std::size_t slots_taken_ = 0;  ///< by the first so many forwards
  ActionList list_;
};

}  // namespace

ActionList with_transfers(const ActionList& compute, int stages, int chunks, int stage) {
  return Inserter(compute, stages, chunks, stage).run();
}

}  // namespace trireme::pipeline
