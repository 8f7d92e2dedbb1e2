// The block once more, in double, row by row, without slices.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "unit/layers/cases.hpp"

namespace trireme::test {

using Doubles = std::vector<double>;

class BlockReference {
 public:
  /// weights: whole, by name. batch gives documents and numbers of sequences.
  BlockReference(const BlockCase& of, const std::map<std::string, Doubles>& weights, const layers::Sequences& sequences)
      : case_(of), weights_(weights), sequences_(sequences) {}

  /// x [N, D] -> y [N, D].
  [[nodiscard]] Doubles operator()(const Doubles& x) const {
    const Doubles middle = residual(x, attention(norm("norm_1", x)), 2);
    return residual(middle, mlp(norm("norm_2", middle)), 3);
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] const Doubles* find(const std::string& name) const {
    const auto found = weights_.find(name);
    return found == weights_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] Doubles norm(const std::string& name, const Doubles& x) const {
    const Doubles& gain = weights_.at(name + ".gain");
    const Doubles* bias = find(name + ".bias");
    const std::int64_t width = case_.width;
    Doubles y(x.size());
    for (std::int64_t n = 0; n < case_.rows(); ++n) {
      double mean = 0;
      double squares = 0;
      for (std::int64_t d = 0; d < width; ++d) mean += x[at(n * width + d)] / static_cast<double>(width);
      if (case_.norm == layers::NormKind::rms) mean = 0;
      for (std::int64_t d = 0; d < width; ++d) squares += std::pow(x[at(n * width + d)] - mean, 2);
      const double rstd = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
      for (std::int64_t d = 0; d < width; ++d) {
        y[at(n * width + d)] = (x[at(n * width + d)] - mean) * rstd * gain[at(d)] + (bias ? (*bias)[at(d)] : 0);
      }
    }
    return y;
  }

  [[nodiscard]] Doubles linear(const std::string& name, const Doubles& x) const {
    const Doubles& weight = weights_.at(name + ".weight");
    const Doubles* bias = find(name + ".bias");
    const auto in = static_cast<std::int64_t>(x.size()) / case_.rows();
    const auto out = static_cast<std::int64_t>(weight.size()) / in;
    Doubles y(at(case_.rows() * out));
    for (std::int64_t n = 0; n < case_.rows(); ++n) {
      for (std::int64_t o = 0; o < out; ++o) {
        double sum = bias ? (*bias)[at(o)] : 0;
        for (std::int64_t i = 0; i < in; ++i) sum += x[at(n * in + i)] * weight[at(o * in + i)];
        y[at(n * out + o)] = sum;
      }
    }
    return y;
  }

  [[nodiscard]] double kept(std::uint32_t site, std::int64_t sequence, std::int64_t element) const {
    const kernels::Dropout dropout = sequences_.dropout(case_.dropout, site);
    if (dropout.probability == 0) return 1;
    if (!kernels::survives(dropout, sequences_.first_sequence + sequence, element)) return 0;
    return 1 / (1 - static_cast<double>(dropout.probability));
  }

  [[nodiscard]] Doubles residual(const Doubles& x, const Doubles& branch, std::uint32_t site) const {
    const std::int64_t of_sequence = case_.tokens * case_.width;
    Doubles y = x;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
      y[at(i)] += branch[at(i)] * kept(site, i / of_sequence, i % of_sequence);
    }
    return y;
  }

  void rotate(Doubles& x, std::int64_t heads) const {
    const std::int64_t half = case_.head_width / 2;
    for (std::int64_t n = 0; n < case_.rows(); ++n) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t k = 0; k < half; ++k) {
          const double angle = static_cast<double>(n % case_.tokens) *
                               std::pow(10000.0, -2.0 * static_cast<double>(k) / static_cast<double>(2 * half));
          double& a = x[at((n * heads + h) * 2 * half + k)];
          double& b = x[at((n * heads + h) * 2 * half + k + half)];
          const double turned = a * std::cos(angle) - b * std::sin(angle);
          b = a * std::sin(angle) + b * std::cos(angle);
          a = turned;
        }
      }
    }
  }

  [[nodiscard]] Doubles attention(const Doubles& x) const {
    Doubles query = linear("attention.query", x);
    Doubles key = linear("attention.key", x);
    const Doubles value = linear("attention.value", x);
    if (case_.rotary) {
      rotate(query, case_.heads);
      rotate(key, case_.kv_heads);
    }
    Doubles core(query.size());
    for (std::int64_t n = 0; n < case_.rows(); ++n) {
      for (std::int64_t h = 0; h < case_.heads; ++h) attend(query, key, value, n, h, core);
    }
    return linear("attention.output", core);
  }

  void attend(const Doubles& query, const Doubles& key, const Doubles& value, std::int64_t n, std::int64_t h,
              Doubles& core) const {
    const std::int64_t size = case_.head_width;
    const std::int64_t kv_head = h / (case_.heads / case_.kv_heads);
    const std::int64_t sequence = n / case_.tokens;
    const std::int64_t position = n % case_.tokens;
    const auto kv = [&](std::int64_t s, std::int64_t k) {
      return at(((sequence * case_.tokens + s) * case_.kv_heads + kv_head) * size + k);
    };
    const std::int64_t first = sequences_.starts.as<std::int32_t>()[n];
    Doubles weight;
    double total = 0;
    for (std::int64_t s = first; s <= position; ++s) {
      double score = 0;
      for (std::int64_t k = 0; k < size; ++k) score += query[at((n * case_.heads + h) * size + k)] * key[kv(s, k)];
      weight.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
      total += weight.back();
    }
    for (std::int64_t s = first; s <= position; ++s) {
      const double share =
          weight[at(s - first)] / total * kept(1, sequence, (h * case_.tokens + position) * case_.tokens + s);
      for (std::int64_t k = 0; k < size; ++k) core[at((n * case_.heads + h) * size + k)] += share * value[kv(s, k)];
    }
  }

  [[nodiscard]] Doubles mlp(const Doubles& x) const {
    Doubles hidden = linear("mlp.up", x);
    if (case_.mlp == layers::MlpKind::swiglu) {
      const Doubles gate = linear("mlp.gate", x);
      for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] *= gate[i] / (1 + std::exp(-gate[i]));
      return linear("mlp.down", hidden);
    }
    for (double& z : hidden) {
      const double inner = case_.mlp == layers::MlpKind::gelu
                               ? std::erf(z / std::sqrt(2.0))
                               : std::tanh(std::sqrt(2 / std::acos(-1.0)) * (z + 0.044715 * z * z * z));
      z *= 0.5 * (1 + inner);
    }
    return linear("mlp.down", hidden);
  }

  BlockCase case_;
  const std::map<std::string, Doubles>& weights_;
  layers::Sequences sequences_;
};

/// The derivative of `loss` along `direction` from `values`, which are put back.
inline double derivative(Doubles& values, const std::vector<float>& direction, const std::function<double()>& loss) {
  constexpr double step = 1e-5;
  const Doubles start = values;
  const auto loss_at = [&](double shift) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = start[i] + shift * static_cast<double>(direction[i]);
    return loss();
  };
  const double result = (loss_at(step) - loss_at(-step)) / (2 * step);
  values = start;
  return result;
}

}  // namespace trireme::test
