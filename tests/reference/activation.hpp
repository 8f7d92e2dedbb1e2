// Activations in double, from the definitions.
#pragma once

#include <cmath>

namespace trireme::reference {

inline double gelu_exact(double x) {
  return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
}

inline double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

inline double silu(double x) {
  return x / (1 + std::exp(-x));
}

/// f'(x) by central differences of fourth order.
template <class Function>
double derivative(const Function& f, double x) {
  const double h = 1e-3;
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}

}  // namespace trireme::reference
