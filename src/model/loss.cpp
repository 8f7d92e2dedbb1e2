#include "trireme/model/loss.hpp"

#include "trireme/base/error.hpp"

namespace trireme::model {

void CrossEntropyLoss::coefficients(std::span<const float> weights, std::span<float> coefficients) const {
  TRIREME_EXPECT(weights.size() == coefficients.size());
  const double scale = counted_ > 0 ? gradient_scale_ / static_cast<double>(counted_) : 0.0;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    coefficients[n] = static_cast<float>(static_cast<double>(weights[n]) * scale);
  }
}

void CrossEntropyLoss::add(std::span<const float> weights, std::span<const float> log_probability) {
  TRIREME_EXPECT(weights.size() == log_probability.size());
  for (std::size_t n = 0; n < weights.size(); ++n) {
    if (weights[n] > 0) sum_.add(-static_cast<double>(weights[n]) * static_cast<double>(log_probability[n]));
  }
}

double CrossEntropyLoss::value(comm::Communicator& communicator) const {
  const double sum = total(communicator);
  return counted_ > 0 ? sum / static_cast<double>(counted_) : 0.0;
}

double CrossEntropyLoss::total(comm::Communicator& communicator) const {
  kernels::ExactSum sum = sum_;
  communicator.all_reduce_sum(sum.words());
  return sum.value();
}

}  // namespace trireme::model
