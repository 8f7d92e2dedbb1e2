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

}  // namespace

float cross_entropy_row(float* logits, std::int64_t vocab, std::int64_t padded, std::int64_t target, bool gradient,
                        float coefficient) {
  const float largest = row_maximum(logits, vocab);
  const float of_target = logits[target] - largest;
  // The powers stay in the row for the gradient: the row is in the second cache, another exp would cost more.
  const float total = sum_columns(vocab, [&](auto lanes, std::int64_t i) {
    const F32x16 power = exp_of_nonpositive(lanes.load(logits + i) - broadcast(largest));
    if (gradient) lanes.store(logits + i, power);
    return power;
  });
  if (gradient) {
    const F32x16 factor = broadcast(coefficient / total);
    for_columns(vocab, [&](auto lanes, std::int64_t i) { lanes.store(logits + i, lanes.load(logits + i) * factor); });
    for_columns(padded - vocab, [&](auto lanes, std::int64_t i) { lanes.store(logits + vocab + i, zero()); });
    logits[target] -= coefficient;
  }
  float log_total[16];
  store(log_total, log(broadcast(total)));
  return of_target - log_total[0];
}

}  // namespace trireme::kernels::host::TRIREME_ISA
