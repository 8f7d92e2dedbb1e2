#include "kernels/portable/activation.hpp"

#include <cmath>

#include <Kokkos_Core.hpp>

#include "kernels/element.hpp"

namespace trireme::kernels::portable {

namespace {

constexpr float twice_root_two_over_pi = 1.5957691F;
constexpr float cubic = 0.044715F;

/// 1 / (1 + exp(-z)); the power stays finite, so that (1 - sigmoid) = power * sigmoid is never 0 * infinity.
struct Sigmoid {
  float value;
  float complement;
  KOKKOS_INLINE_FUNCTION explicit Sigmoid(float z) {
    const float power = std::exp(-z > 80.0F ? 80.0F : -z);
    value = 1.0F / (1.0F + power);
    complement = power * value;
  }
};

KOKKOS_INLINE_FUNCTION float normal_distribution(float x) {
  return 0.5F + 0.5F * std::erf(x * 0.70710678F);
}
KOKKOS_INLINE_FUNCTION float normal_density(float x) {
  return 0.39894228F * std::exp(-0.5F * x * x);
}
KOKKOS_INLINE_FUNCTION Sigmoid tanh_gate(float x) {
  return Sigmoid(x * twice_root_two_over_pi * (1.0F + cubic * x * x));
}

template <class T>
struct GeluApplier {
  Gelu kind;
  const T* x;
  T* y;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const float v = to_float(x[i]);
    const float weight = kind == Gelu::exact ? normal_distribution(v) : tanh_gate(v).value;
    y[i] = from_float<T>(v * weight);
  }
};

template <class T>
struct GeluDifferentiator {
  Gelu kind;
  const T* dy;
  const T* x;
  T* dx;

  KOKKOS_INLINE_FUNCTION float derivative(float v) const {
    if (kind == Gelu::exact) return normal_distribution(v) + v * normal_density(v);
    const Sigmoid gate = tanh_gate(v);
    const float slope = twice_root_two_over_pi * (1.0F + 3.0F * cubic * v * v);
    return gate.value + v * slope * gate.value * gate.complement;
  }
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    dx[i] = from_float<T>(to_float(dy[i]) * derivative(to_float(x[i])));
  }
};

template <class T>
struct SwigluApplier {
  const T* gate;
  const T* up;
  T* y;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const float z = to_float(gate[i]);
    y[i] = from_float<T>(z * Sigmoid(z).value * to_float(up[i]));
  }
};

template <class T>
struct SwigluDifferentiator {
  const T* dy;
  const T* gate;
  const T* up;
  T* dgate;
  T* dup;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const float g = to_float(dy[i]);
    const float z = to_float(gate[i]);
    const float v = to_float(up[i]);
    const Sigmoid s(z);
    dgate[i] = from_float<T>(g * v * s.value * (1.0F + z * s.complement));
    dup[i] = from_float<T>(g * z * s.value);
  }
};

}  // namespace

void gelu_forward(Gelu kind, const tensor::Tensor& x, const tensor::Tensor& y) {
  with_element_type(x.dtype, [&](auto element) {
    using T = decltype(element);
    Kokkos::parallel_for("trireme::gelu_forward", Kokkos::RangePolicy<>(0, x.size()),
                         GeluApplier<T>{kind, x.as<T>(), y.as<T>()});
  });
}

void gelu_backward(Gelu kind, const tensor::Tensor& dy, const tensor::Tensor& x, const tensor::Tensor& dx) {
  with_element_type(x.dtype, [&](auto element) {
    using T = decltype(element);
    Kokkos::parallel_for("trireme::gelu_backward", Kokkos::RangePolicy<>(0, x.size()),
                         GeluDifferentiator<T>{kind, dy.as<T>(), x.as<T>(), dx.as<T>()});
  });
}

void swiglu_forward(const tensor::Tensor& gate, const tensor::Tensor& up, const tensor::Tensor& y) {
  with_element_type(gate.dtype, [&](auto element) {
    using T = decltype(element);
    Kokkos::parallel_for("trireme::swiglu_forward", Kokkos::RangePolicy<>(0, gate.size()),
                         SwigluApplier<T>{gate.as<T>(), up.as<T>(), y.as<T>()});
  });
}

void swiglu_backward(const tensor::Tensor& dy, const tensor::Tensor& gate, const tensor::Tensor& up,
                     const tensor::Tensor& dgate, const tensor::Tensor& dup) {
  with_element_type(gate.dtype, [&](auto element) {
    using T = decltype(element);
    Kokkos::parallel_for("trireme::swiglu_backward", Kokkos::RangePolicy<>(0, gate.size()),
                         SwigluDifferentiator<T>{dy.as<T>(), gate.as<T>(), up.as<T>(), dgate.as<T>(), dup.as<T>()});
  });
}

}  // namespace trireme::kernels::portable
