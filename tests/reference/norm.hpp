// LayerNorm and RMSNorm in double, from the definitions: statistics, then the whole Jacobian of a row.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace trireme::reference {

using Row = std::vector<double>;

struct NormalizedRow {
  double mean = 0;
  double rstd = 0;
  Row normalized;
};

/// mean stays 0 for RMSNorm (not centered).
inline NormalizedRow normalize(const Row& x, double epsilon, bool centered) {
  const auto width = static_cast<double>(x.size());
  NormalizedRow result;
  if (centered) {
    for (const double value : x) result.mean += value / width;
  }
  double variance = 0;
  for (const double value : x) variance += (value - result.mean) * (value - result.mean) / width;
  result.rstd = 1 / std::sqrt(variance + epsilon);
  for (const double value : x) result.normalized.push_back((value - result.mean) * result.rstd);
  return result;
}

/// dx[i] = sum_j g[j] d normalized[j] / d x[i], with g = dy * gain.
inline Row norm_input_gradient(const NormalizedRow& row, const Row& g, bool centered) {
  const std::size_t size = g.size();
  const auto width = static_cast<double>(size);
  Row dx(size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double same = i == j ? 1 : 0;
      const double through_mean = centered ? 1 / width : 0;
      dx[i] += g[j] * row.rstd * (same - through_mean - row.normalized[i] * row.normalized[j] / width);
    }
  }
  return dx;
}

}  // namespace trireme::reference
