#include "kernels/portable/attention.hpp"

#include <cmath>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include "trireme/base/error.hpp"

#include "kernels/element.hpp"
#include "kernels/philox.hpp"

namespace trireme::kernels::portable {

namespace {

using tensor::Tensor;

constexpr int max_head_size = 256;

/// What a query or key needs of the inputs; b sequence, h head, i query, j key.
template <class T>
struct Inputs {
  AttentionShape shape;
  Dropout dropout;
  const T *q, *k, *v;
  const std::int32_t* sequence_starts;

  KOKKOS_INLINE_FUNCTION std::int64_t query_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return ((b * shape.queries + i) * shape.heads + h) * shape.head_size;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t key_row(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return ((b * shape.keys + j) * shape.kv_heads + h / (shape.heads / shape.kv_heads)) * shape.head_size;
  }
  KOKKOS_INLINE_FUNCTION bool visible(std::int64_t b, std::int64_t i, std::int64_t j) const {
    const std::int64_t position = shape.keys - shape.queries + i;
    if (shape.causal && j > position) return false;
    if (shape.window > 0 && j <= position - shape.window) return false;
    return sequence_starts == nullptr || j >= sequence_starts[b * shape.keys + position];
  }
  KOKKOS_INLINE_FUNCTION float dot(const T* x, const T* y) const {
    float sum = 0;
    for (std::int64_t d = 0; d < shape.head_size; ++d) sum += to_float(x[d]) * to_float(y[d]);
    return sum;
  }
  KOKKOS_INLINE_FUNCTION float score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return shape.scale * dot(q + query_row(b, h, i), k + key_row(b, h, j));
  }
  KOKKOS_INLINE_FUNCTION float dropout_factor(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (dropout.probability == 0) return 1.0F;
    const std::int64_t position = shape.keys - shape.queries + i;
    const std::int64_t element = ((shape.first_head + h) * shape.keys + position) * shape.keys + j;
    return element_survives(dropout, dropout.first_sequence + b, element) ? dropout_scale(dropout.probability) : 0.0F;
  }
};

/// out and log_sum_exp of one query.
template <class T>
struct QueryAttender {
  Inputs<T> in;
  T* out;
  float* log_sum_exp;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t i = index % in.shape.queries;
    const std::int64_t h = index / in.shape.queries % in.shape.heads;
    const std::int64_t b = index / in.shape.queries / in.shape.heads;
    float maximum = -INFINITY;
    for (std::int64_t j = 0; j < in.shape.keys; ++j) {
      if (in.visible(b, i, j)) maximum = fmaxf(maximum, in.score(b, h, i, j));
    }
    float sums[max_head_size] = {};
    float sum = 0;
    for (std::int64_t j = 0; j < in.shape.keys; ++j) {
      if (!in.visible(b, i, j)) continue;
      const float power = expf(in.score(b, h, i, j) - maximum);
      sum += power;
      const float weight = power * in.dropout_factor(b, h, i, j);
      const T* value = in.v + in.key_row(b, h, j);
      for (std::int64_t d = 0; d < in.shape.head_size; ++d) sums[d] += weight * to_float(value[d]);
    }
    log_sum_exp[index] = maximum + logf(sum);
    for (std::int64_t d = 0; d < in.shape.head_size; ++d) {
      out[in.query_row(b, h, i) + d] = from_float<T>(sums[d] / sum);
    }
  }
};

/// The inputs of the backward pass.
template <class T>
struct BackwardInputs : Inputs<T> {
  const T *out, *dout;
  const float* log_sum_exp;

  KOKKOS_INLINE_FUNCTION float probability(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return expf(this->score(b, h, i, j) - log_sum_exp[(b * this->shape.heads + h) * this->shape.queries + i]);
  }
  /// The gradient of a score, before the scale.
  KOKKOS_INLINE_FUNCTION float dscore(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t row = this->query_row(b, h, i);
    const float dprobability = this->dot(dout + row, this->v + this->key_row(b, h, j));
    const float weighted_sum = this->dot(dout + row, out + row);
    return probability(b, h, i, j) * (dprobability * this->dropout_factor(b, h, i, j) - weighted_sum);
  }
};

/// dq of one query.
template <class T>
struct QueryGradient {
  BackwardInputs<T> in;
  T* dq;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t i = index % in.shape.queries;
    const std::int64_t h = index / in.shape.queries % in.shape.heads;
    const std::int64_t b = index / in.shape.queries / in.shape.heads;
    float sums[max_head_size] = {};
    for (std::int64_t j = 0; j < in.shape.keys; ++j) {
      if (!in.visible(b, i, j)) continue;
      const float weight = in.shape.scale * in.dscore(b, h, i, j);
      const T* key = in.k + in.key_row(b, h, j);
      for (std::int64_t d = 0; d < in.shape.head_size; ++d) sums[d] += weight * to_float(key[d]);
    }
    for (std::int64_t d = 0; d < in.shape.head_size; ++d) dq[in.query_row(b, h, i) + d] = from_float<T>(sums[d]);
  }
};

/// dk and dv of one key.
template <class T, class Gradient>
struct KeyGradient {
  BackwardInputs<T> in;
  Gradient *dk, *dv;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t g = index % in.shape.kv_heads;
    const std::int64_t j = index / in.shape.kv_heads % in.shape.keys;
    const std::int64_t b = index / in.shape.kv_heads / in.shape.keys;
    const std::int64_t group = in.shape.heads / in.shape.kv_heads;
    float key_sums[max_head_size] = {};
    float value_sums[max_head_size] = {};
    for (std::int64_t h = g * group; h < (g + 1) * group; ++h) {
      for (std::int64_t i = 0; i < in.shape.queries; ++i) {
        if (in.visible(b, i, j)) add_query(b, h, i, j, key_sums, value_sums);
      }
    }
    for (std::int64_t d = 0; d < in.shape.head_size; ++d) {
      dk[index * in.shape.head_size + d] = from_float<Gradient>(key_sums[d]);
      dv[index * in.shape.head_size + d] = from_float<Gradient>(value_sums[d]);
    }
  }

  KOKKOS_INLINE_FUNCTION void add_query(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, float* key_sums,
                                        float* value_sums) const {
    const std::int64_t row = in.query_row(b, h, i);
    const float key_weight = in.shape.scale * in.dscore(b, h, i, j);
    const float value_weight = in.probability(b, h, i, j) * in.dropout_factor(b, h, i, j);
    for (std::int64_t d = 0; d < in.shape.head_size; ++d) {
      key_sums[d] += key_weight * to_float(in.q[row + d]);
      value_sums[d] += value_weight * to_float(in.dout[row + d]);
    }
  }
};

template <class T>
Inputs<T> inputs_of(const AttentionShape& shape, const Dropout& dropout, const Tensor& q, const Tensor& k,
                    const Tensor& v, const Tensor& sequence_starts) {
  TRIREME_EXPECT(shape.head_size <= max_head_size);
  const auto* starts = sequence_starts.empty() ? nullptr : sequence_starts.as<std::int32_t>();
  return {shape, dropout, q.as<T>(), k.as<T>(), v.as<T>(), starts};
}

}  // namespace

void attention_forward(const AttentionShape& shape, const Dropout& dropout, const Tensor& q, const Tensor& k,
                       const Tensor& v, const Tensor& sequence_starts, const Tensor& out, const Tensor& log_sum_exp) {
  with_element_type(q.dtype, [&](auto element) {
    using T = decltype(element);
    const auto inputs = inputs_of<T>(shape, dropout, q, k, v, sequence_starts);
    Kokkos::parallel_for("trireme::attention_forward", Kokkos::RangePolicy<>(0, log_sum_exp.size()),
                         QueryAttender<T>{inputs, out.as<T>(), log_sum_exp.as<float>()});
  });
}

void attention_backward(const AttentionShape& shape, const Dropout& dropout, const Tensor& q, const Tensor& k,
                        const Tensor& v, const Tensor& sequence_starts, const Tensor& out, const Tensor& log_sum_exp,
                        const Tensor& dout, const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  with_element_type(q.dtype, [&](auto element) {
    using T = decltype(element);
    const BackwardInputs<T> inputs{inputs_of<T>(shape, dropout, q, k, v, sequence_starts), out.as<T>(), dout.as<T>(),
                                   log_sum_exp.as<float>()};
    Kokkos::parallel_for("trireme::attention_query_gradient", Kokkos::RangePolicy<>(0, log_sum_exp.size()),
                         QueryGradient<T>{inputs, dq.as<T>()});
    const std::int64_t num_keys = shape.batch * shape.keys * shape.kv_heads;
    const auto differentiate_keys = [&](auto* dkeys, auto* dvalues) {
      using Gradient = std::remove_pointer_t<decltype(dkeys)>;
      Kokkos::parallel_for("trireme::attention_key_gradient", Kokkos::RangePolicy<>(0, num_keys),
                           KeyGradient<T, Gradient>{inputs, dkeys, dvalues});
    };
    if (dk.dtype == q.dtype) {
      differentiate_keys(dk.as<T>(), dv.as<T>());
    } else {
      differentiate_keys(dk.as<float>(), dv.as<float>());
    }
  });
}

}  // namespace trireme::kernels::portable
