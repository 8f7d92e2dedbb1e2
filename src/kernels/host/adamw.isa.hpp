#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

/// AdamW's settings as its loop needs them, each rounded once from double.
struct AdamWFactors {
  float gradient_scale;
  float beta1, one_minus_beta1;
  float beta2, one_minus_beta2;
  float first_correction, second_correction;  ///< 1 / (1 - beta^update)
  float learning_rate, epsilon, weight_decay;
};

/// Updates `count` elements; second_gradient may be nullptr.
TRIREME_ISA_DECLARE(void adamw_run(const AdamWFactors& factors, std::int64_t count, float* weight,
                                   const float* gradient, const float* second_gradient, float* first_moment,
                                   float* second_moment))

}  // namespace trireme::kernels::host
