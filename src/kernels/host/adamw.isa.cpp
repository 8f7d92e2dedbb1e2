#include "kernels/host/adamw.isa.hpp"

#include "kernels/host/columns.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

void adamw_run(const AdamWFactors& factors, std::int64_t count, float* weight, const float* gradient,
               const float* second_gradient, float* first_moment, float* second_moment) {
  const AdamWFactors f = factors;
  for_columns(count, [&](auto lanes, std::int64_t i) {
    F32x16 g = lanes.load(gradient + i);
    if (second_gradient != nullptr) g = g + lanes.load(second_gradient + i);
    g = g * broadcast(f.gradient_scale);
    const F32x16 m = fma(broadcast(f.beta1), lanes.load(first_moment + i), broadcast(f.one_minus_beta1) * g);
    const F32x16 v = fma(broadcast(f.beta2), lanes.load(second_moment + i), broadcast(f.one_minus_beta2) * g * g);
    lanes.store(first_moment + i, m);
    lanes.store(second_moment + i, v);
    const F32x16 deviation = sqrt(v * broadcast(f.second_correction)) + broadcast(f.epsilon);
    const F32x16 w = lanes.load(weight + i);
    const F32x16 step = fma(broadcast(f.weight_decay), w, m * broadcast(f.first_correction) / deviation);
    lanes.store(weight + i, fnma(broadcast(f.learning_rate), step, w));
  });
}

}  // namespace trireme::kernels::host::TRIREME_ISA
