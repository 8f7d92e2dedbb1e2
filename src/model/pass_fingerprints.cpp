#include "trireme/model/pass_fingerprints.hpp"

#include <algorithm>

#include "trireme/kernels/fingerprint.hpp"

namespace trireme::model {

void PassFingerprints::begin_step() {
  std::fill(forward_.begin(), forward_.end(), 0);
  std::fill(backward_.begin(), backward_.end(), 0);
}

void PassFingerprints::add_output(std::int64_t layer, const data::Batch& batch, const tensor::Tensor& values) {
  forward_[static_cast<std::size_t>(layer + 1)] += fingerprint_of(batch, values);
}

void PassFingerprints::add_gradient(std::int64_t layer, const data::Batch& batch, const tensor::Tensor& values) {
  backward_[static_cast<std::size_t>(layer)] += fingerprint_of(batch, values);
}

std::uint64_t PassFingerprints::fingerprint_of(const data::Batch& batch, const tensor::Tensor& values) const {
  if (values.size() == 0) return 0;
  const std::int64_t width = values.shape.columns();
  const std::int64_t row = batch.first_sequence * batch.context + axis_.own_rows(batch.sequences * batch.context).begin;
  return kernels::fingerprint(device_, values, static_cast<std::uint64_t>(row * width), width);
}

}  // namespace trireme::model
