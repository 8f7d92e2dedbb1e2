#include "trireme/pipeline/nonfinite.hpp"

#include "trireme/kernels/reduce.hpp"

namespace trireme::pipeline {

void NonfiniteWatch::look(bool backward, int chunk, int micro_batch, const tensor::Tensor& values) {
  const std::int64_t number = std::int64_t{chunk} * stages_ + stage_;
  const std::int64_t all = std::int64_t{chunks_} * stages_;
  const std::int64_t place = backward ? 2 * all - 1 - number : number;
  if (first_ && first_->place <= place) return;
  if (values.size() == 0 || kernels::all_finite(device_, values)) return;
  first_ = NonfinitePass{.backward = backward, .chunk = chunk, .micro_batch = micro_batch, .place = place};
}

}  // namespace trireme::pipeline
