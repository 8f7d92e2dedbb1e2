#include "trireme/kernels/adamw.hpp"

#include <cmath>

#include "trireme/base/error.hpp"

#include "kernels/chunks.hpp"
#include "kernels/host/adamw.isa.hpp"
#include "kernels/host/isa_call.hpp"

namespace trireme::kernels {

namespace {

host::AdamWFactors factors_of(const AdamW& settings) {
  const auto update = static_cast<double>(settings.update);
  return {.gradient_scale = static_cast<float>(settings.gradient_scale),
          .beta1 = static_cast<float>(settings.beta1),
          .one_minus_beta1 = static_cast<float>(1 - settings.beta1),
          .beta2 = static_cast<float>(settings.beta2),
          .one_minus_beta2 = static_cast<float>(1 - settings.beta2),
          .first_correction = static_cast<float>(1 / (1 - std::pow(settings.beta1, update))),
          .second_correction = static_cast<float>(1 / (1 - std::pow(settings.beta2, update))),
          .learning_rate = static_cast<float>(settings.learning_rate),
          .epsilon = static_cast<float>(settings.epsilon),
          .weight_decay = static_cast<float>(settings.weight_decay)};
}

}  // namespace

void adamw_update(const device::Device& device, const AdamW& settings, std::int64_t count, float* weight,
                  const float* gradient, const float* second_gradient, float* first_moment, float* second_moment) {
  TRIREME_EXPECT(settings.update >= 1);
  const host::AdamWFactors factors = factors_of(settings);
  const auto run = TRIREME_ISA_CALL(device, adamw_run);
  for_chunks(device, count, [&](std::int64_t begin, std::int64_t length) {
    run(factors, length, weight + begin, gradient + begin,
        second_gradient != nullptr ? second_gradient + begin : nullptr, first_moment + begin, second_moment + begin);
  });
}

}  // namespace trireme::kernels
