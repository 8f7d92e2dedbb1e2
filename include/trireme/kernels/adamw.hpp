// AdamW (Kingma, Ba 2015; decoupled decay: Loshchilov, Hutter 2019).
#pragma once

#include "trireme/device/device.hpp"

namespace trireme::kernels {

struct AdamW {
  double learning_rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0;    ///< 0 for parameters that do not decay
  double gradient_scale = 1;  ///< clipping (and loss scale) factor applied to the gradient
  std::int64_t update = 1;    ///< number of this update, from 1: the bias corrections are functions of it
};

/// One update of `count` contiguous elements, all fp32 on the host, addresses on 64 bytes or not:
///   g = gradient_scale * (gradient + second_gradient); m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
///   w = w - learning_rate (m / (1 - beta1^update) / (sqrt(v / (1 - beta2^update)) + epsilon) + weight_decay w).
/// second_gradient may be nullptr (it is the head's part of a tied embedding).
void adamw_update(const device::Device& device, const AdamW& settings, std::int64_t count, float* weight,
                  const float* gradient, const float* second_gradient, float* first_moment, float* second_moment);

}  // namespace trireme::kernels
