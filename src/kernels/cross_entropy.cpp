#include "trireme/kernels/cross_entropy.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

#include "kernels/host/cross_entropy.isa.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/portable/cross_entropy.hpp"

namespace trireme::kernels {

void cross_entropy(const device::Device& device, const tensor::Tensor& logits, std::int64_t vocab,
                   const tensor::Tensor& targets, const tensor::Tensor& coefficients,
                   const tensor::Tensor& log_probability) {
  const std::int64_t rows = logits.shape.rows();
  const std::int64_t padded = logits.shape.columns();
  TRIREME_EXPECT(vocab > 0 && vocab <= padded);
  TRIREME_EXPECT(targets.size() == rows && log_probability.size() == rows);
  TRIREME_EXPECT(coefficients.empty() || coefficients.size() == rows);
  if (device.space() != device::Space::host) {
    return portable::cross_entropy(logits, vocab, targets, coefficients, log_probability);
  }
  const auto* target = targets.as<std::int32_t>();
  const float* coefficient = coefficients.empty() ? nullptr : coefficients.as<float>();
  auto* result = log_probability.as<float>();
  const auto of_row = TRIREME_ISA_CALL(device, cross_entropy_row);
  device.parallel(rows, [&](std::int64_t row, int) {
    float* row_logits = logits.as<float>() + row * padded;
    if (coefficient != nullptr && coefficient[row] == 0) {
      std::fill_n(row_logits, padded, 0.0F);
      result[row] = 0;
      return;
    }
    TRIREME_EXPECT(target[row] >= 0 && target[row] < vocab);
    result[row] = of_row(row_logits, vocab, padded, target[row], coefficient != nullptr,
                         coefficient != nullptr ? coefficient[row] : 0.0F);
  });
}

}  // namespace trireme::kernels
