#include "kernels/host/activation.isa.hpp"

#include "trireme/base/dtype.hpp"

#include "kernels/host/columns.hpp"
#include "kernels/host/math.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

/// s = 1 / (1 + exp(-z)) and 1 - s, neither by a difference of near numbers.
struct Sigmoid {
  F32x16 value, complement;
};

TRIREME_INLINE Sigmoid sigmoid(F32x16 z) {
  // Beyond 80 the sigmoid is below every number that matters; a finite power keeps the complement from 0 * infinity.
  const F32x16 power = exp(min(-z, broadcast(80.0F)));
  const F32x16 value = broadcast(1.0F) / (broadcast(1.0F) + power);
  return {value, power * value};
}

/// Phi, the normal distribution function.
TRIREME_INLINE F32x16 normal_distribution(F32x16 x) {
  constexpr float root_half = 0.70710678F;
  return fma(broadcast(0.5F), erf(x * broadcast(root_half)), broadcast(0.5F));
}

TRIREME_INLINE F32x16 normal_density(F32x16 x) {
  constexpr float one_over_root_two_pi = 0.39894228F;
  return broadcast(one_over_root_two_pi) * exp(broadcast(-0.5F) * x * x);
}

// (1 + tanh(u)) / 2 is the sigmoid of 2 u; u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float twice_root_two_over_pi = 1.5957691F;
constexpr float cubic = 0.044715F;

TRIREME_INLINE Sigmoid tanh_gate(F32x16 x) {
  const F32x16 slope = fma(broadcast(cubic * twice_root_two_over_pi), x * x, broadcast(twice_root_two_over_pi));
  return sigmoid(x * slope);
}

}  // namespace

template <class T>
void gelu_exact_forward(std::int64_t count, const T* x, T* y) {
  for_columns(count, [&](auto lanes, std::int64_t i) {
    const F32x16 v = lanes.load(x + i);
    lanes.store(y + i, v * normal_distribution(v));
  });
}

template <class T>
void gelu_exact_backward(std::int64_t count, const T* dy, const T* x, T* dx) {
  for_columns(count, [&](auto lanes, std::int64_t i) {
    const F32x16 v = lanes.load(x + i);
    lanes.store(dx + i, lanes.load(dy + i) * fma(v, normal_density(v), normal_distribution(v)));
  });
}

template <class T>
void gelu_tanh_forward(std::int64_t count, const T* x, T* y) {
  for_columns(count, [&](auto lanes, std::int64_t i) {
    const F32x16 v = lanes.load(x + i);
    lanes.store(y + i, v * tanh_gate(v).value);
  });
}

template <class T>
void gelu_tanh_backward(std::int64_t count, const T* dy, const T* x, T* dx) {
  for_columns(count, [&](auto lanes, std::int64_t i) {
    const F32x16 v = lanes.load(x + i);
    const Sigmoid gate = tanh_gate(v);
    // d(2 u)/dx
    const F32x16 slope = fma(broadcast(3 * cubic * twice_root_two_over_pi), v * v, broadcast(twice_root_two_over_pi));
    const F32x16 derivative = fma(v * slope, gate.value * gate.complement, gate.value);
    lanes.store(dx + i, lanes.load(dy + i) * derivative);
  });
}

template <class T>
void swiglu_forward(std::int64_t count, const T* gate, const T* up, T* y) {
  for_columns(count, [&](auto lanes, std::int64_t i) {
    const F32x16 z = lanes.load(gate + i);
    lanes.store(y + i, z * sigmoid(z).value * lanes.load(up + i));
  });
}

template <class T>
void swiglu_backward(std::int64_t count, const T* dy, const T* gate, const T* up, T* dgate, T* dup) {
  for_columns(count, [&](auto lanes, std::int64_t i) {
    const F32x16 z = lanes.load(gate + i);
    const F32x16 v = lanes.load(up + i);
    const F32x16 g = lanes.load(dy + i);
    const Sigmoid s = sigmoid(z);
    lanes.store(dgate + i, g * v * (s.value * fma(z, s.complement, broadcast(1.0F))));
    lanes.store(dup + i, g * (z * s.value));
  });
}

#define TRIREME_INSTANTIATE(T)                                             \
  template void gelu_exact_forward(std::int64_t, const T*, T*);            \
  template void gelu_exact_backward(std::int64_t, const T*, const T*, T*); \
  template void gelu_tanh_forward(std::int64_t, const T*, T*);             \
  template void gelu_tanh_backward(std::int64_t, const T*, const T*, T*);  \
  template void swiglu_forward(std::int64_t, const T*, const T*, T*);      \
  template void swiglu_backward(std::int64_t, const T*, const T*, const T*, T*, T*);
TRIREME_INSTANTIATE(float)
TRIREME_INSTANTIATE(Bf16)
TRIREME_INSTANTIATE(Fp16)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels::host::TRIREME_ISA
