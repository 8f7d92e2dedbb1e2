#include "trireme/kernels/fingerprint.hpp"

#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/fingerprint_mix.hpp"

namespace trireme::kernels {
namespace {

device::Device make_device(int threads = 1, device::Isa isa = device::detect_isa()) {
  return device::Device({.num_threads = threads, .isa = isa});
}

template <class T>
tensor::Tensor view(std::vector<T>& words, const tensor::Shape& shape, Dtype dtype) {
  return {.data = words.data(), .shape = shape, .dtype = dtype};
}

std::vector<std::uint32_t> random_words(std::size_t count) {
  std::vector<std::uint32_t> words(count);
  std::uint32_t state = 12345;
  for (std::uint32_t& word : words) word = state = state * 1664525U + 1013904223U;
  return words;
}

TEST(Fingerprint, IsTheSumOfTheMixesOfAllElements) {
  std::vector<std::uint32_t> words = random_words(7 * 37);
  const std::uint64_t first = (std::uint64_t{3} << 32U) - 100;  // the upper half of the index changes on the way
  std::uint64_t expected = 0;
  for (std::uint64_t row = 0; row < 7; ++row) {
    for (std::uint64_t column = 0; column < 37; ++column) {
      expected += fingerprint_mix(words[row * 37 + column], fingerprint_key(first + row * 50 + column));
    }
  }
  EXPECT_EQ(fingerprint(make_device(), view(words, {7, 37}, Dtype::f32), first, 50), expected);
}

TEST(Fingerprint, IsTheSameOnEveryInstructionSetAndNumberOfThreads) {
  std::vector<std::uint32_t> words = random_words(3 * 70001);
  const tensor::Tensor values = view(words, {3, 70001}, Dtype::f32);
  std::vector<std::uint16_t> halves(words.begin(), words.end());
  const tensor::Tensor half_values = view(halves, {3, 70001}, Dtype::bf16);
  const auto first = make_device(1, device::Isa::generic);
  const std::uint64_t expected = fingerprint(first, values, 11, 70001);
  const std::uint64_t half_expected = fingerprint(first, half_values, 11, 70001);
  for (const device::Isa isa : {device::Isa::generic, device::Isa::avx2, device::Isa::avx512}) {
    if (isa > device::detect_isa()) continue;
    for (const int threads : {1, 2, 3}) {
      EXPECT_EQ(fingerprint(make_device(threads, isa), values, 11, 70001), expected);
      EXPECT_EQ(fingerprint(make_device(threads, isa), half_values, 11, 70001), half_expected);
    }
  }
}

TEST(Fingerprint, PartsAddUpToTheWhole) {
  std::vector<std::uint32_t> words = random_words(60);
  const auto device = make_device();
  const std::uint64_t whole = fingerprint(device, view(words, {5, 12}, Dtype::f32), 0, 12);
  std::uint64_t parts = 0;
  for (std::uint64_t begin = 0; begin < 12; begin += 4) {
    std::vector<std::uint32_t> columns;
    for (std::size_t row = 0; row < 5; ++row) {
      for (std::size_t column = 0; column < 4; ++column) columns.push_back(words[row * 12 + begin + column]);
    }
    parts += fingerprint(device, view(columns, {5, 4}, Dtype::f32), begin, 12);
  }
  EXPECT_EQ(parts, whole);
}

TEST(Fingerprint, EverySingleBitCounts) {
  std::vector<std::uint32_t> words = random_words(40);
  const auto device = make_device();
  const tensor::Tensor values = view(words, {40}, Dtype::f32);
  std::set<std::uint64_t> seen{fingerprint(device, values, 5, 40)};
  for (std::uint32_t& word : words) {
    for (int bit = 0; bit < 32; ++bit) {
      word ^= 1U << bit;
      EXPECT_TRUE(seen.insert(fingerprint(device, values, 5, 40)).second);
      word ^= 1U << bit;
    }
  }
}

TEST(Fingerprint, PlacesCount) {
  std::vector<std::uint32_t> words = random_words(64);
  const auto device = make_device();
  const tensor::Tensor values = view(words, {64}, Dtype::f32);
  std::set<std::uint64_t> seen{fingerprint(device, values, 0, 64)};
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::swap(words[i], words[j]);
      EXPECT_TRUE(seen.insert(fingerprint(device, values, 0, 64)).second);
      std::swap(words[i], words[j]);
    }
  }
  EXPECT_TRUE(seen.insert(fingerprint(device, values, 1, 64)).second);
}

TEST(Fingerprint, ChangesThatKeepTheSumOfTheElementsCount) {
  // Equal and opposite changes of two elements, as words and as signs, at any distance.
  std::vector<std::uint32_t> words(64, 0x3F800000U);
  const auto device = make_device();
  const tensor::Tensor values = view(words, {64}, Dtype::f32);
  std::set<std::uint64_t> seen{fingerprint(device, values, 0, 64)};
  for (const std::uint32_t change : {1U, 0x00800000U, 0x80000000U}) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (std::size_t j = 0; j < words.size(); ++j) {
        if (i == j || (change == 0x80000000U && j < i)) continue;  // of the sign, the same in both orders
        words[i] += change;
        words[j] -= change;
        EXPECT_TRUE(seen.insert(fingerprint(device, values, 0, 64)).second);
        words[i] -= change;
        words[j] += change;
      }
    }
  }
}

TEST(Fingerprint, EverySingleBitOfAHalfCounts) {
  const std::vector<std::uint32_t> words = random_words(33);
  std::vector<std::uint16_t> halves(words.begin(), words.end());
  const auto device = make_device();
  const tensor::Tensor values = view(halves, {33}, Dtype::f16);
  std::set<std::uint64_t> seen{fingerprint(device, values, 5, 33)};
  for (std::uint16_t& half : halves) {
    for (int bit = 0; bit < 16; ++bit) {
      half = static_cast<std::uint16_t>(half ^ (1U << bit));
      EXPECT_TRUE(seen.insert(fingerprint(device, values, 5, 33)).second);
      half = static_cast<std::uint16_t>(half ^ (1U << bit));
    }
  }
}

TEST(Fingerprint, AnEmptyTensorHasNone) {
  EXPECT_EQ(fingerprint(make_device(), {.shape = {0, 8}}, 3, 8), 0U);
}

}  // namespace
}  // namespace trireme::kernels
