// The mix of a fingerprint; integers only, so every way of computing it gives the same number.
#pragma once

#include <cstdint>

namespace trireme::kernels {

// Odd numbers: multiplying by one is a permutation of the words. Those of the finalizer of MurmurHash3 (Appleby) and
// the fraction of the golden ratio.
inline constexpr std::uint32_t fingerprint_index_step = 0x9E3779B9U;
inline constexpr std::uint32_t fingerprint_high_step = 0x85EBCA77U;
inline constexpr std::uint32_t fingerprint_first = 0x85EBCA6BU;
inline constexpr std::uint32_t fingerprint_second = 0xC2B2AE35U;
inline constexpr std::uint32_t fingerprint_third = 0x27D4EB2FU;

/// What the index puts into the mix.
constexpr std::uint32_t fingerprint_key(std::uint64_t index) {
  return static_cast<std::uint32_t>(index) * fingerprint_index_step +
         static_cast<std::uint32_t>(index >> 32U) * fingerprint_high_step;
}

/// Upper and lower word come from the same permutation of the bits by two further ones.
constexpr std::uint64_t fingerprint_mix(std::uint32_t bits, std::uint32_t key) {
  std::uint32_t x = bits ^ key;
  x = (x ^ (x >> 16U)) * fingerprint_first;
  x ^= x >> 13U;
  std::uint32_t low = x * fingerprint_second;
  low ^= low >> 16U;
  std::uint32_t high = (x ^ key) * fingerprint_third;
  high ^= high >> 15U;
  return (std::uint64_t{high} << 32U) + low;
}

}  // namespace trireme::kernels
