#include "trireme/pipeline/tied_weights.hpp"

#include <span>

#include "trireme/model/stage.hpp"

#include "pipeline/tags.hpp"

namespace trireme::pipeline {

using model::BucketNumbers;

TiedWeights::TiedWeights(comm::Communicator& pipeline_axis, const model::ModelOptions& options, optim::Weights& weights,
                         optim::GradientSync& gradients)
    : axis_(pipeline_axis),
      weights_(weights),
      gradients_(gradients),
      layers_(options.layers),
      active_(options.tied_embeddings && pipeline_axis.size() > 1) {}

void TiedWeights::send_gradient() {
  if (first()) {
    const std::span<float> piece = gradients_.own(BucketNumbers::head(layers_));
    if (const auto request = axis_.receive(piece.data(), piece.size_bytes(), axis_.size() - 1, tied_gradient_tag)) {
      request->wait();
    }
  } else if (last()) {
    const std::span<float> piece = gradients_.own(BucketNumbers::head(layers_));
    if (const auto request = axis_.send(piece.data(), piece.size_bytes(), 0, tied_gradient_tag)) request->wait();
  }
}

void TiedWeights::bucket_updated(int bucket) {
  if (!first() || bucket != BucketNumbers::token) return;
  const std::span<float> piece = weights_.own(bucket);
  sending_ = axis_.send(piece.data(), piece.size_bytes(), axis_.size() - 1, tied_weight_tag);
}

void TiedWeights::finish() {
  if (first() && sending_) {
    sending_->wait();
    sending_.reset();
  } else if (last()) {
    const int bucket = BucketNumbers::far_table(layers_);
    const std::span<float> piece = weights_.own(bucket);
    if (const auto request = axis_.receive(piece.data(), piece.size_bytes(), 0, tied_weight_tag)) request->wait();
    weights_.start_share(bucket);
    weights_.finish_share();
  }
}

}  // namespace trireme::pipeline
