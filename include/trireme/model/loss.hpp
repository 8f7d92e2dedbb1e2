// The training loss, an object over per-token log-probabilities.
#pragma once

#include <cstdint>
#include <span>

#include "trireme/comm/communicator.hpp"
#include "trireme/kernels/reduce.hpp"

namespace trireme::model {

/// Weighted cross-entropy: sum over the counted tokens of weight * -log p, divided by the number of counted tokens
/// (weight > 0) of the whole global batch, however it is split. The sum is exact, so its order does not matter.
class CrossEntropyLoss {
 public:
  /// counted: of the whole step, all ranks together; 0 gives loss 0 and a gradient of zero. gradient_scale multiplies
  /// every gradient, not the loss: a power of two that keeps small ones above the smallest half-precision numbers.
  explicit CrossEntropyLoss(std::int64_t counted, double gradient_scale = 1)
      : counted_(counted), gradient_scale_(gradient_scale) {}

  /// coefficients[n] = gradient_scale * weights[n] / counted: what the gradient of -log p of each token is multiplied
  /// by.
  void coefficients(std::span<const float> weights, std::span<float> coefficients) const;
  /// Adds a micro-batch to the sum.
  void add(std::span<const float> weights, std::span<const float> log_probability);
  /// The loss of all ranks of the communicator. Collective.
  [[nodiscard]] double value(comm::Communicator& communicator) const;
  /// The sum before the division, of all ranks. Collective.
  [[nodiscard]] double total(comm::Communicator& communicator) const;

 private:
  std::int64_t counted_;
  double gradient_scale_;
  kernels::ExactSum sum_;
};

}  // namespace trireme::model
