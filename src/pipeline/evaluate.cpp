#include "trireme/pipeline/evaluate.hpp"

#include <functional>
#include <memory>

#include "trireme/pipeline/schedule.hpp"

#include "pipeline/tags.hpp"

namespace trireme::pipeline {

namespace {

using comm::Axis;
using RequestPointer = std::unique_ptr<comm::Request>;

void wait(RequestPointer& request) {
  if (request) request->wait();
  request.reset();
}

/// Passes batches through the chunks of all stages: each stage one batch at a time, the stages at the same time.
class ForwardPasses {
 public:
  ForwardPasses(model::Stage& stage, comm::Communicator& pipeline_axis)
      : stage_(stage), axis_(pipeline_axis), sending_(static_cast<std::size_t>(stage.num_chunks())) {}
  ~ForwardPasses() {
    for (RequestPointer& request : sending_) wait(request);
  }
  ForwardPasses(const ForwardPasses&) = delete;
  ForwardPasses& operator=(const ForwardPasses&) = delete;

  /// compute(chunk) takes a batch of `rows` rows from the input to the output of slot 0.
  void pass(std::int64_t rows, const std::function<void(int chunk)>& compute) {
    for (int chunk = 0; chunk < stage_.num_chunks(); ++chunk) {
      // Chunks of a stage may share their memory, so nothing may be on its way from it.
      for (RequestPointer& request : sending_) wait(request);
      if (const auto from = before(axis_.size(), axis_.rank(), chunk)) {
        const tensor::Tensor input = stage_.input(chunk, 0, rows);
        RequestPointer request = axis_.receive(input.data, input.bytes(), from->stage, input_tag(chunk));
        wait(request);
      }
      compute(chunk);
      if (const auto to = after(axis_.size(), stage_.num_chunks(), axis_.rank(), chunk)) {
        const tensor::Tensor output = stage_.output(chunk, 0, rows);
        sending_[static_cast<std::size_t>(chunk)] =
            axis_.send(output.data, output.bytes(), to->stage, input_tag(to->chunk));
      }
    }
  }

 private:
  model::Stage& stage_;
  comm::Communicator& axis_;
  std::vector<RequestPointer> sending_;  // by chunk
};

}  // namespace

Evaluation evaluate(model::Stage& stage, const data::ValidationSet& validation, const comm::ProcessGrid& grid,
                    optim::Weights* weights) {
  model::CrossEntropyLoss loss(0);
  std::int64_t counted = 0;
  {
    ForwardPasses passes(stage, grid.along(Axis::pipeline));
    for (std::int64_t round = 0; round < validation.num_rounds(); ++round) {
      const data::Batch batch = validation.batch(round);
      const std::int64_t batch_counted = batch.counted();
      counted += batch_counted;
      // Sharded weights are gathered by all data ranks together, so a rank without tokens takes part too.
      if (batch_counted == 0 && (weights == nullptr || !weights->options().sharded)) continue;
      passes.pass(batch.sequences * batch.context, [&](int chunk) { stage.evaluate(chunk, batch, loss, weights); });
    }
  }
  Evaluation result;
  result.counted = grid.along(Axis::data).all_reduce_sum(counted);
  const double total = loss.total(grid.world());
  if (result.counted > 0) result.loss = total / static_cast<double>(result.counted);
  return result;
}

std::vector<float> continue_sequence(model::Stage& stage, std::span<const std::int32_t> tokens,
                                     comm::Communicator& pipeline_axis) {
  std::vector<float> logits(static_cast<std::size_t>(stage.options().vocab));
  {
    ForwardPasses passes(stage, pipeline_axis);
    passes.pass(static_cast<std::int64_t>(tokens.size()), [&](int chunk) {
      const std::span<const float> made = stage.continue_sequence(chunk, tokens);
      if (!made.empty()) logits.assign(made.begin(), made.end());
    });
  }
  pipeline_axis.broadcast(logits.data(), logits.size() * sizeof(float), pipeline_axis.size() - 1);
  return logits;
}

}  // namespace trireme::pipeline
