#include "kernels/portable/cross_entropy.hpp"

#include <cmath>

#include <Kokkos_Core.hpp>

namespace trireme::kernels::portable {

namespace {

struct CrossEntropyRow {
  float* logits;
  std::int64_t vocab, padded;
  const std::int32_t* targets;
  const float* coefficients;  // may be nullptr
  float* log_probability;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    float* x = logits + row * padded;
    const float coefficient = coefficients != nullptr ? coefficients[row] : 1.0F;
    if (coefficient == 0) {
      for (std::int64_t i = 0; i < padded; ++i) x[i] = 0;
      log_probability[row] = 0;
      return;
    }
    float largest = x[0];
    for (std::int64_t i = 1; i < vocab; ++i) largest = fmaxf(largest, x[i]);
    float total = 0;
    for (std::int64_t i = 0; i < vocab; ++i) total += expf(x[i] - largest);
    log_probability[row] = x[targets[row]] - largest - logf(total);
    if (coefficients == nullptr) return;
    for (std::int64_t i = 0; i < padded; ++i) {
      x[i] = i < vocab ? coefficient * (expf(x[i] - largest) / total - (i == targets[row] ? 1.0F : 0.0F)) : 0.0F;
    }
  }
};

}  // namespace

void cross_entropy(const tensor::Tensor& logits, std::int64_t vocab, const tensor::Tensor& targets,
                   const tensor::Tensor& coefficients, const tensor::Tensor& log_probability) {
  const float* weights = coefficients.empty() ? nullptr : coefficients.as<float>();
  Kokkos::parallel_for("trireme::cross_entropy", Kokkos::RangePolicy<>(0, logits.shape.rows()),
                       CrossEntropyRow{logits.as<float>(), vocab, logits.shape.columns(), targets.as<std::int32_t>(),
                                       weights, log_probability.as<float>()});
}

}  // namespace trireme::kernels::portable
