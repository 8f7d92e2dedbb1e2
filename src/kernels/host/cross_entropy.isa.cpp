#include "kernels/host/cross_entropy.isa.hpp"

#include "kernels/host/columns.hpp"
#include "kernels/host/math.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

float row_maximum(const float* logits, std::int64_t vocab) {
  const F32x16 lowest = broadcast(-__builtin_inff());
  F32x16 chains[4] = {lowest, lowest, lowest, lowest};
  std::int64_t i = 0;
  for (; i + 64 <= vocab; i += 64) {
    for (int c = 0; c < 4; ++c) chains[c] = max(chains[c], load(logits + i + 16 * c));
  }
  for (; i < vocab; i += 16) {
    const std::int64_t left = vocab - i < 16 ? vocab - i : 16;
    chains[0] = max(chains[0], select(first_lanes(left), load_first(logits + i, left), lowest));
  }
  return maximum(max(max(chains[0], chains[1]), max(chains[2], chains[3])));
}

constexpr float infinity = __builtin_inff();

/// What a slice's exponents are relative to: where every logit is -infinity, exp(logit) is 0 all the same.
float origin_of(float largest) {
  return largest == -infinity ? 0.0F : largest;
}

// Level l holds the sum of 2^l slices where their number so far has that bit: a binary counter adds in the tree.
class TreeSum {
 public:
  TRIREME_INLINE void add(F32x16 sum) {
    int level = 0;
    for (; ((count_ >> level) & 1) != 0; ++level) sum = levels_[level] + sum;
    levels_[level] = sum;
    ++count_;
  }
  TRIREME_INLINE F32x16 total() const {
    F32x16 sum = zero();
    bool first = true;
    for (int level = 0; (count_ >> level) != 0; ++level) {
      if (((count_ >> level) & 1) == 0) continue;
      sum = first ? levels_[level] : levels_[level] + sum;
      first = false;
    }
    return sum;
  }

 private:
  F32x16 levels_[32];
  std::int64_t count_ = 0;
};

/// One statistic of `count` rows of a slice.
F32x16 gather(const float* statistics, Statistic which, std::int64_t count) {
  alignas(64) float values[16] = {};
  for (std::int64_t i = 0; i < count; ++i) values[i] = statistics[num_statistics * i + which];
  return load(values);
}

/// Sixteen rows, or the last `count`.
void combine_rows(const CrossEntropySlices& p, std::int64_t begin, std::int64_t count) {
  const auto of_slice = [&](std::int64_t slice, Statistic which) {
    return gather(p.statistics + num_statistics * (slice * p.rows + begin), which, count);
  };
  F32x16 largest = broadcast(-infinity);
  for (std::int64_t slice = 0; slice < p.slices; ++slice) largest = max(of_slice(slice, statistic_largest), largest);
  TreeSum sum, target;
  for (std::int64_t slice = 0; slice < p.slices; ++slice) {
    const F32x16 factor = exp_of_nonpositive(of_slice(slice, statistic_largest) - largest);
    sum.add(factor * of_slice(slice, statistic_sum));
    target.add(of_slice(slice, statistic_target));
  }
  alignas(64) float largest_of[16], sum_of[16], log_probability[16];
  store(largest_of, largest);
  store(sum_of, sum.total());
  store(log_probability, (target.total() - largest) - log(sum.total()));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = begin + i;
    const bool counts = p.coefficients == nullptr || p.coefficients[row] != 0;
    p.log_probability[row] = counts ? log_probability[i] : 0.0F;
    p.normalizer[2 * row] = largest_of[i];
    p.normalizer[2 * row + 1] = sum_of[i];
  }
}

float power_of(float exponent) {
  alignas(64) float power[16];
  store(power, exp_of_nonpositive(broadcast(exponent)));
  return power[0];
}

}  // namespace

void cross_entropy_statistics(const CrossEntropySlice& p, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    float* logits = p.logits + row * p.padded;
    float* statistics = p.statistics + num_statistics * row;
    const std::int64_t target = p.targets[row] - p.first_id;
    const float largest = row_maximum(logits, p.vocab);
    const F32x16 origin = broadcast(origin_of(largest));
    statistics[statistic_largest] = largest;
    statistics[statistic_target] = target >= 0 && target < p.vocab ? logits[target] : 0.0F;
    statistics[statistic_sum] = sum_columns(p.vocab, [&](auto lanes, std::int64_t i) {
      __builtin_prefetch(logits + p.padded + i);  // the next row comes while this one is computed
      const F32x16 power = exp_of_nonpositive(lanes.load(logits + i) - origin);
      lanes.store(logits + i, power);
      return power;
    });
  }
}

void cross_entropy_combine(const CrossEntropySlices& slices, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; row += num_lanes) {
    combine_rows(slices, row, end - row < num_lanes ? end - row : num_lanes);
  }
}

template <class T>
void cross_entropy_gradient(const CrossEntropyGradient<T>& p, std::int64_t begin, std::int64_t end) {
  const CrossEntropySlice& slice = p.slice;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* logits = slice.logits + row * slice.padded;
    T* gradient = p.gradient + row * p.stride;
    const float coefficient = p.coefficients[row];
    if (coefficient == 0) {
      for_columns(slice.padded, [&](auto lanes, std::int64_t i) { lanes.store(gradient + i, zero()); });
      continue;
    }
    const float* all = p.normalizer + 2 * row;
    const float largest = slice.statistics[num_statistics * row + statistic_largest];
    const float relative = largest == all[0] ? 1.0F : power_of(largest - all[0]);
    const float factor = coefficient * relative / all[1];
    const std::int64_t target = slice.targets[row] - slice.first_id;
    const bool has_target = target >= 0 && target < slice.vocab;
    // Read first: the gradient may lie over the logits.
    const float at_target = has_target ? logits[target] * factor - coefficient : 0.0F;
    for_columns(slice.vocab, [&](auto lanes, std::int64_t i) {
      __builtin_prefetch(logits + i + 512);
      lanes.store(gradient + i, lanes.load(logits + i) * broadcast(factor));
    });
    for_columns(slice.padded - slice.vocab,
                [&](auto lanes, std::int64_t i) { lanes.store(gradient + slice.vocab + i, zero()); });
    if (has_target) FirstLanes{1}.store(gradient + target, broadcast(at_target));
  }
}

template void cross_entropy_gradient(const CrossEntropyGradient<float>&, std::int64_t, std::int64_t);
template void cross_entropy_gradient(const CrossEntropyGradient<Bf16>&, std::int64_t, std::int64_t);
template void cross_entropy_gradient(const CrossEntropyGradient<Fp16>&, std::int64_t, std::int64_t);

}  // namespace trireme::kernels::host::TRIREME_ISA
