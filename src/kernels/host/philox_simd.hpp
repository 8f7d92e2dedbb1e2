// Philox 4x32-10 on sixteen counters at once, and the dropout masks drawn from it (trireme/kernels/random.hpp).
#pragma once

#include "kernels/dropout_counter.hpp"
#include "kernels/host/simd.hpp"

namespace trireme::kernels::host {

/// The part of a dropout that is constant within one sequence, in plain numbers.
struct DropoutStream {
  std::uint32_t key[2];      ///< lower, upper half of the seed
  std::uint32_t counter[3];  ///< sequence, step, site: words 1 to 3 of the counter of a small element
  std::uint32_t threshold;   ///< a word survives when it is at least this
  float scale;               ///< 1 / (1 - probability)
};

namespace TRIREME_ISA {

/// The four words of sixteen counters; word k of each in words[k].
struct PhiloxWords {
  U32x16 words[4];
};
/// Of the blocks (element / 4) whose lower and upper halves are given, the upper ones in the place that a counter has
/// for them: shifted by the bits of a site.
TRIREME_INLINE PhiloxWords philox_of(const DropoutStream& stream, U32x16 lower, U32x16 upper) {
  U32x16 c0 = lower;
  U32x16 c1 = broadcast(stream.counter[0]);
  U32x16 c2 = broadcast(stream.counter[1]);
  U32x16 c3 = broadcast(stream.counter[2]) | upper;
  std::uint32_t key0 = stream.key[0];
  std::uint32_t key1 = stream.key[1];
  const U32x16 multiplier0 = broadcast(0xD2511F53U);
  const U32x16 multiplier1 = broadcast(0xCD9E8D57U);
  for (int round = 0; round < 10; ++round) {
    const U32x16 next0 = multiply_high(multiplier1, c2) ^ c1 ^ broadcast(key0);
    const U32x16 next2 = multiply_high(multiplier0, c0) ^ c3 ^ broadcast(key1);
    c1 = multiply_low(multiplier1, c2);
    c3 = multiply_low(multiplier0, c0);
    c0 = next0;
    c2 = next2;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

/// Sixty-four random words: word i belongs to element first + i. first is a multiple of 64, so no lower half overflows.
TRIREME_INLINE PhiloxWords philox_words(const DropoutStream& stream, std::int64_t first) {
  const auto block = static_cast<std::uint64_t>(first / 4);
  // Lane i holds counter 4 (i % 4) + i / 4, so that transposing quads leaves the words in the order of the elements.
  const U32x16 lane = lane_numbers();
  const U32x16 order = shift_left<2>(lane & broadcast(3U)) + shift_right<2>(lane);
  PhiloxWords random = philox_of(stream, broadcast(static_cast<std::uint32_t>(block)) + order,
                                 broadcast(static_cast<std::uint32_t>(block >> 32) << dropout_site_bits));
  transpose_quads(random.words[0], random.words[1], random.words[2], random.words[3]);
  return random;
}

/// scale where the word's element survives, else 0.
TRIREME_INLINE F32x16 dropout_factor(const DropoutStream& stream, U32x16 word) {
  // Unsigned words are compared as signed ones shifted by 2^31.
  const U32x16 shift = broadcast(0x80000000U);
  return select(less_signed(word ^ shift, broadcast(stream.threshold) ^ shift), zero(), broadcast(stream.scale));
}

}  // namespace TRIREME_ISA
}  // namespace trireme::kernels::host
