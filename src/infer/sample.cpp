#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/infer/infer.hpp"

namespace trireme::infer {

std::int32_t sample_token(const std::vector<float>& logits, double temperature, std::int64_t top_k, double uniform) {
  if (temperature <= 0) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float la = logits[static_cast<std::size_t>(a)];
    const float lb = logits[static_cast<std::size_t>(b)];
    return la > lb || (la == lb && a < b);
  };
  if (top_k > 0 && top_k < static_cast<std::int64_t>(order.size())) {
    std::nth_element(order.begin(), order.begin() + top_k, order.end(), likelier);
    order.resize(static_cast<std::size_t>(top_k));
    std::sort(order.begin(), order.end());
  }
  double largest = -INFINITY;
  for (const std::int32_t id : order)
    largest = std::max(largest, static_cast<double>(logits[static_cast<std::size_t>(id)]));
  std::vector<double> cumulative;
  double sum = 0;
  for (const std::int32_t id : order) {
    sum += std::exp((static_cast<double>(logits[static_cast<std::size_t>(id)]) - largest) / temperature);
    cumulative.push_back(sum);
  }
  const auto place = std::upper_bound(cumulative.begin(), cumulative.end(), uniform * sum);
  return order[std::min(static_cast<std::size_t>(place - cumulative.begin()), order.size() - 1)];
}

}  // namespace trireme::infer
