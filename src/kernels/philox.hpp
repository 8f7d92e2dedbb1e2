// Philox 4x32-10 and the choice of dropout, one number at a time, for host and device (trireme/kernels/random.hpp).
// kernels/host/philox_simd.hpp draws the same words sixteen counters at once.
#pragma once

#include <cstdint>

#include <Kokkos_Macros.hpp>

#include "trireme/kernels/random.hpp"

#include "kernels/dropout_counter.hpp"

namespace trireme::kernels {

struct PhiloxBlock {
  std::uint32_t word[4];
};

/// Ten rounds. Multipliers and key increments: Salmon et al. 2011, section 3.3.
KOKKOS_INLINE_FUNCTION PhiloxBlock philox_rounds(PhiloxBlock c, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * c.word[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * c.word[2];
    c = {{static_cast<std::uint32_t>(product1 >> 32) ^ c.word[1] ^ key0, static_cast<std::uint32_t>(product1),
          static_cast<std::uint32_t>(product0 >> 32) ^ c.word[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return c;
}

KOKKOS_INLINE_FUNCTION std::uint32_t lower_half(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
KOKKOS_INLINE_FUNCTION std::uint32_t upper_half(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

/// A random word survives dropout when it is at least this; exact, since a float has 24 bits.
KOKKOS_INLINE_FUNCTION std::uint32_t dropout_threshold(float probability) {
  return static_cast<std::uint32_t>(static_cast<double>(probability) * 4294967296.0);
}

/// What survivors are multiplied by.
KOKKOS_INLINE_FUNCTION float dropout_scale(float probability) {
  return 1.0F / (1.0F - probability);
}

/// survives(), callable in a kernel; `sequence` is the number within the global batch.
KOKKOS_INLINE_FUNCTION bool element_survives(const Dropout& dropout, std::int64_t sequence, std::int64_t element) {
  const auto block = static_cast<std::uint64_t>(element / 4);
  const PhiloxBlock counter{{lower_half(block), static_cast<std::uint32_t>(sequence),
                             static_cast<std::uint32_t>(dropout.step),
                             dropout.site | (upper_half(block) << dropout_site_bits)}};
  const PhiloxBlock random = philox_rounds(counter, lower_half(dropout.seed), upper_half(dropout.seed));
  return random.word[element % 4] >= dropout_threshold(dropout.probability);
}

}  // namespace trireme::kernels
