// Attention in double from its definition: the whole matrix of probabilities of each head.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace trireme::reference {

struct AttentionCase {
  std::size_t batch, queries, keys, heads, kv_heads, head_size;
  double scale;
  /// Whether query i of a sequence sees key j.
  std::function<bool(std::size_t sequence, std::size_t i, std::size_t j)> visible;
  /// What a probability is multiplied by: 1, or dropout's 0 or 1 / (1 - p).
  std::function<double(std::size_t sequence, std::size_t head, std::size_t i, std::size_t j)> factor;
};

struct AttentionResult {
  std::vector<double> out, log_sum_exp, dq, dk, dv;
};

/// All results, for inputs laid out as in trireme/kernels/attention.hpp.
inline AttentionResult attention(const AttentionCase& a, const std::vector<double>& q, const std::vector<double>& k,
                                 const std::vector<double>& v, const std::vector<double>& dout) {
  AttentionResult r;
  r.out.resize(q.size());
  r.dq.resize(q.size());
  r.dk.resize(k.size());
  r.dv.resize(v.size());
  const auto dot = [&](const double* x, const double* y) {
    double sum = 0;
    for (std::size_t d = 0; d < a.head_size; ++d) sum += x[d] * y[d];
    return sum;
  };
  for (std::size_t b = 0; b < a.batch; ++b) {
    for (std::size_t h = 0; h < a.heads; ++h) {
      for (std::size_t i = 0; i < a.queries; ++i) {
        const std::size_t query = ((b * a.queries + i) * a.heads + h) * a.head_size;
        const auto key = [&](std::size_t j) {
          return ((b * a.keys + j) * a.kv_heads + h / (a.heads / a.kv_heads)) * a.head_size;
        };
        std::vector<double> p(a.keys);
        double largest = -INFINITY;
        for (std::size_t j = 0; j < a.keys; ++j) {
          p[j] = a.visible(b, i, j) ? a.scale * dot(&q[query], &k[key(j)]) : -INFINITY;
          largest = std::max(largest, p[j]);
        }
        double total = 0;
        for (double& score : p) total += score = std::exp(score - largest);
        r.log_sum_exp.push_back(largest + std::log(total));
        std::vector<double> dp(a.keys);
        double mean = 0;
        for (std::size_t j = 0; j < a.keys; ++j) {
          p[j] /= total;
          const double factor = a.factor(b, h, i, j);
          for (std::size_t d = 0; d < a.head_size; ++d) {
            r.out[query + d] += p[j] * factor * v[key(j) + d];
            r.dv[key(j) + d] += p[j] * factor * dout[query + d];
          }
          dp[j] = factor * dot(&dout[query], &v[key(j)]);
          mean += p[j] * dp[j];
        }
        for (std::size_t j = 0; j < a.keys; ++j) {
          const double dscore = a.scale * p[j] * (dp[j] - mean);
          for (std::size_t d = 0; d < a.head_size; ++d) {
            r.dq[query + d] += dscore * k[key(j) + d];
            r.dk[key(j) + d] += dscore * q[query + d];
          }
        }
      }
    }
  }
  return r;
}

}  // namespace trireme::reference
