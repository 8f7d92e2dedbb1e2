#include <bit>

#include "trireme/base/error.hpp"
#include "trireme/data/sample_order.hpp"

namespace trireme::data {
namespace {

/// The finalizer of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t mix(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15U;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

/// A permutation of [0, 4^half_bits): eight rounds of a balanced Feistel network.
class Feistel {
 public:
  Feistel(int half_bits, std::uint64_t key) : half_bits_(half_bits), key_(key) {}

  [[nodiscard]] std::uint64_t operator()(std::uint64_t value) const {
    constexpr int num_rounds = 8;
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (int round = 0; round < num_rounds; ++round) {
      const std::uint64_t mixed = mix(key_ ^ mix((right << 3) + static_cast<std::uint64_t>(round)));
      const std::uint64_t next = left ^ (mixed >> (64 - half_bits_));
      left = right;
      right = next;
    }
    return (left << half_bits_) | right;
  }

 private:
  int half_bits_;
  std::uint64_t key_;
};

}  // namespace

std::int64_t permute(std::int64_t index, std::int64_t size, std::uint64_t seed, std::uint64_t stream) {
  TRIREME_EXPECT(index >= 0 && index < size);
  if (size == 1) return 0;
  const int bits = std::bit_width(static_cast<std::uint64_t>(size - 1));
  const Feistel feistel((bits + 1) / 2, mix(seed) ^ mix(mix(stream) + 1));
  // The walk from index along the permutation's cycle comes back to [0, size), at the latest to index itself.
  auto value = static_cast<std::uint64_t>(index);
  do {
    value = feistel(value);
  } while (value >= static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(value);
}

}  // namespace trireme::data
