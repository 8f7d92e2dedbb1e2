#include <algorithm>
#include <bit>
#include <limits>

#include "trireme/kernels/reduce.hpp"

namespace trireme::kernels {

namespace {

// Word w holds multiples of 2^(32 w - 1074), with room for carries. 67 of them reach 2^1070: 2^30 times the largest
// double.
constexpr int value_words = 67;
constexpr int nan_word = value_words;
constexpr int infinity_word = value_words + 1;  // and the next, for -inf

constexpr int mantissa_bits = 52;
constexpr std::uint64_t mantissa_mask = (std::uint64_t{1} << mantissa_bits) - 1;
constexpr std::uint64_t infinite_exponent = 0x7FF;

/// The digits of a sum's magnitude, base 2^32, and its sign.
struct Digits {
  std::array<std::uint32_t, value_words + 1> digit{};
  bool negative = false;

  [[nodiscard]] bool bit(int index) const {
    return ((digit[static_cast<std::size_t>(index / 32)] >> (index % 32)) & 1U) != 0;
  }
  [[nodiscard]] int highest_bit() const {
    for (int w = value_words; w >= 0; --w) {
      const std::uint32_t d = digit[static_cast<std::size_t>(w)];
      if (d != 0) return 32 * w + 31 - std::countl_zero(d);
    }
    return -1;
  }
  /// Bits [begin, begin + count), count <= 64.
  [[nodiscard]] std::uint64_t bits(int begin, int count) const {
    std::uint64_t result = 0;
    for (int i = count - 1; i >= 0; --i) result = 2 * result + (bit(begin + i) ? 1 : 0);
    return result;
  }
  [[nodiscard]] bool any_below(int end) const {
    for (int i = 0; i < end; ++i) {
      if (bit(i)) return true;
    }
    return false;
  }
};

Digits digits_of(std::span<const std::int64_t> words) {
  Digits result;
  std::int64_t carry = 0;
  for (std::size_t w = 0; w < value_words; ++w) {
    const std::int64_t sum = words[w] + carry;
    result.digit[w] = static_cast<std::uint32_t>(sum);
    carry = sum >> 32;
  }
  result.digit[value_words] = static_cast<std::uint32_t>(carry);
  result.negative = carry < 0;
  if (!result.negative) return result;
  std::uint64_t borrow = 1;
  for (std::uint32_t& digit : result.digit) {
    const std::uint64_t sum = std::uint64_t{static_cast<std::uint32_t>(~digit)} + borrow;
    digit = static_cast<std::uint32_t>(sum);
    borrow = sum >> 32;
  }
  return result;
}

// The bits of the nearest double, ties to even, without its sign.
std::uint64_t rounded_bits(const Digits& digits) {
  const int highest = digits.highest_bit();
  if (highest <= mantissa_bits) return digits.bits(0, mantissa_bits + 1);  // denormals and the first normal binade
  const int lowest = highest - mantissa_bits;
  std::uint64_t mantissa = digits.bits(lowest, mantissa_bits + 1);
  const bool half = digits.bit(lowest - 1);
  if (half && ((mantissa & 1) != 0 || digits.any_below(lowest - 1))) ++mantissa;
  // The hidden bit, or a carry beyond it, adds to the exponent; beyond the largest double this is infinity.
  const std::uint64_t bits = (static_cast<std::uint64_t>(lowest) << mantissa_bits) + mantissa;
  return std::min(bits, infinite_exponent << mantissa_bits);
}

}  // namespace

void ExactSum::add(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = (bits >> 63) != 0;
  const std::uint64_t exponent = (bits >> mantissa_bits) & infinite_exponent;
  std::uint64_t mantissa = bits & mantissa_mask;
  if (exponent == infinite_exponent) {
    const int word = mantissa != 0 ? nan_word : infinity_word + (negative ? 1 : 0);
    ++words_[static_cast<std::size_t>(word)];
    return;
  }
  if (exponent != 0) mantissa |= mantissa_mask + 1;
  const std::uint64_t position = exponent != 0 ? exponent - 1 : 0;
  const std::uint64_t shift = position % 32;
  // mantissa << shift in three digits of 32 bits.
  const std::uint64_t low = (mantissa & 0xFFFFFFFFU) << shift;
  const std::uint64_t high = ((mantissa >> 32) << shift) + (low >> 32);
  const std::array<std::uint64_t, 3> digits{low & 0xFFFFFFFFU, high & 0xFFFFFFFFU, high >> 32};
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto digit = static_cast<std::int64_t>(digits[i]);
    words_[position / 32 + i] += negative ? -digit : digit;
  }
}

void ExactSum::add(const ExactSum& other) {
  for (std::size_t w = 0; w < words_.size(); ++w) words_[w] += other.words_[w];
}

double ExactSum::value() const {
  const bool finite =
      std::all_of(words_.begin() + value_words, words_.end(), [](std::int64_t count) { return count == 0; });
  if (!finite) return std::numeric_limits<double>::quiet_NaN();
  const Digits digits = digits_of(words_);
  const std::uint64_t sign = digits.negative ? std::uint64_t{1} << 63 : 0;
  return std::bit_cast<double>(rounded_bits(digits) | sign);
}

}  // namespace trireme::kernels
