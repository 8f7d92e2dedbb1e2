#include "trireme/pipeline/evaluate.hpp"

namespace trireme::pipeline {

Evaluation evaluate(model::Stage& stage, const data::ValidationSet& validation, comm::Communicator& data_axis) {
  model::CrossEntropyLoss loss(0);
  std::int64_t counted = 0;
  for (std::int64_t round = 0; round < validation.num_rounds(); ++round) {
    const data::Batch batch = validation.batch(round);
    const std::int64_t batch_counted = batch.counted();
    if (batch_counted > 0) stage.evaluate(batch, loss);
    counted += batch_counted;
  }
  Evaluation result;
  result.counted = data_axis.all_reduce_sum(counted);
  const double total = loss.total(data_axis);
  if (result.counted > 0) result.loss = total / static_cast<double>(result.counted);
  return result;
}

}  // namespace trireme::pipeline
