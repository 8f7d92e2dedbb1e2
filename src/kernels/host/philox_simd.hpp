// Philox 4x32-10 on sixteen counters at once, and the dropout masks drawn from it (trireme/kernels/random.hpp).
#pragma once

#include "kernels/host/simd.hpp"

namespace trireme::kernels::host {

/// The part of a dropout that is constant within one sequence, in plain numbers.
struct DropoutStream {
  std::uint32_t key[2];      ///< lower, upper half of the seed
  std::uint32_t counter[3];  ///< sequence, step, site: words 1 to 3 of the counter
  std::uint32_t threshold;   ///< a word survives when it is at least this
  float scale;               ///< 1 / (1 - probability)
};

namespace TRIREME_ISA {

/// Sixty-four random words: word i belongs to element 4 * first_counter + i.
struct PhiloxWords {
  U32x16 words[4];
};

TRIREME_INLINE PhiloxWords philox_words(const DropoutStream& stream, std::uint32_t first_counter) {
  // Lane i holds counter 4 (i % 4) + i / 4, so that transposing quads leaves the words in the order of the elements.
  const U32x16 lane = lane_numbers();
  const U32x16 order = shift_left<2>(lane & broadcast(3U)) + shift_right<2>(lane);
  U32x16 c0 = broadcast(first_counter) + order;
  U32x16 c1 = broadcast(stream.counter[0]);
  U32x16 c2 = broadcast(stream.counter[1]);
  U32x16 c3 = broadcast(stream.counter[2]);
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
  transpose_quads(c0, c1, c2, c3);
  return {{c0, c1, c2, c3}};
}

/// factors[i] = scale where element `first + i` survives, else 0, for count elements.
/// factors has room for count + 64 floats and is written beyond count; the result is where the first one lies in it.
TRIREME_INLINE const float* dropout_factors(const DropoutStream& stream, std::int64_t first, std::int64_t count,
                                            float* factors) {
  const std::int64_t skipped = first % 4;
  // Unsigned words above the threshold, by a signed comparison of words shifted by 2^31.
  const U32x16 threshold = broadcast(stream.threshold ^ 0x80000000U);
  for (std::int64_t i = 0; i < skipped + count; i += 64) {
    const PhiloxWords random = philox_words(stream, static_cast<std::uint32_t>((first + i) / 4));
    for (int k = 0; k < 4; ++k) {
      const Mask16 dropped = less_signed(random.words[k] ^ broadcast(0x80000000U), threshold);
      store(factors + i + 16 * k, select(dropped, zero(), broadcast(stream.scale)));
    }
  }
  return factors + skipped;
}

}  // namespace TRIREME_ISA
}  // namespace trireme::kernels::host
