#include "elementary.isa.hpp"

#include "kernels/host/math.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

template <class Half>
F32x16 through(F32x16 a) {
  Half halves[16];
  store(static_cast<Half*>(halves), a);
  return load(static_cast<const Half*>(halves));
}

}  // namespace

void evaluate(Elementary function, const float* x, float* y) {
  const F32x16 a = load(x);
  switch (function) {
    case Elementary::exp:
      return store(y, exp(a));
    case Elementary::exp_of_nonpositive:
      return store(y, exp_of_nonpositive(a));
    case Elementary::log:
      return store(y, log(a));
    case Elementary::tanh:
      return store(y, tanh(a));
    case Elementary::erf:
      return store(y, erf(a));
    case Elementary::half:
      return store(y, through<Fp16>(a));
    case Elementary::bfloat:
      return store(y, through<Bf16>(a));
    case Elementary::sum:
      return store(y, broadcast(sum(a)));
    case Elementary::maximum:
      return store(y, broadcast(maximum(a)));
  }
}

}  // namespace trireme::kernels::host::TRIREME_ISA
