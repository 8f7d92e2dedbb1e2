// A tied table under the pipeline: the embedding reads it on the first stage, the head on the last.
#pragma once

#include <cstdint>
#include <memory>

#include "trireme/comm/communicator.hpp"
#include "trireme/model/options.hpp"
#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/weights.hpp"

namespace trireme::pipeline {

/// The first stage has the table, its moments, and adds the two gradients; the last one has a copy that follows. Each
/// data rank exchanges its own piece, so nothing is sent twice. Does nothing with one stage, or without tying.
/// All calls are collective over the pipeline axis (the stages between take no part).
class TiedWeights {
 public:
  TiedWeights(comm::Communicator& pipeline_axis, const model::ModelOptions& options, optim::Weights& weights,
              optim::GradientSync& gradients);

  /// After GradientSync::finish(): the head's reduced gradient goes to the first stage.
  void send_gradient();
  /// As soon as the first stage's own piece of `bucket` has its new weights: if it is the table, it sets out for the
  /// last stage.
  void bucket_updated(int bucket);
  /// After the update: the last stage has the new table.
  void finish();

 private:
  [[nodiscard]] bool first() const { return active_ && axis_.rank() == 0; }
  [[nodiscard]] bool last() const { return active_ && axis_.rank() == axis_.size() - 1; }

  comm::Communicator& axis_;
  optim::Weights& weights_;
  optim::GradientSync& gradients_;
  std::int64_t layers_;
  bool active_;
  std::unique_ptr<comm::Request> sending_;
};

}  // namespace trireme::pipeline
