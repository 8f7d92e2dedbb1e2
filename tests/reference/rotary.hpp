// Rotary positions in double: each pair (k, k + K/2) is a complex number that is turned by position * base^(-2k/K).
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace trireme::reference {

/// direction: 1 forward, -1 backward.
inline std::vector<double> rotate(const std::vector<double>& head, double position, double base, int direction) {
  const std::size_t half = head.size() / 2;
  std::vector<double> result(head.size());
  for (std::size_t k = 0; k < half; ++k) {
    const double exponent = -2.0 * static_cast<double>(k) / static_cast<double>(head.size());
    const std::complex<double> turned = std::complex<double>(head[k], head[k + half]) *
                                        std::polar(1.0, direction * position * std::pow(base, exponent));
    result[k] = turned.real();
    result[k + half] = turned.imag();
  }
  return result;
}

}  // namespace trireme::reference
