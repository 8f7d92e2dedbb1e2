#include "trireme/io/hash.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace trireme::io {
namespace {

std::vector<unsigned char> bytes(std::size_t count) {
  std::vector<unsigned char> data(count);
  std::iota(data.begin(), data.end(), static_cast<unsigned char>(3));
  return data;
}

TEST(Hash, GivesThePublishedValuesOfXxh3) {
  EXPECT_EQ(hash128(nullptr, 0).text(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash64(nullptr, 0), 0x2d06800538d394c2ULL);
}

TEST(Hash, StreamingInAnyPiecesEqualsOneCall) {
  for (const std::size_t count : {0, 1, 16, 17, 240, 241, 1021, 5003}) {
    const auto data = bytes(count);
    for (const std::size_t piece : {1, 7, 64, 1024}) {
      Hasher hasher;
      for (std::size_t done = 0; done < count; done += piece) {
        hasher.add(data.data() + done, std::min(piece, count - done));
      }
      EXPECT_EQ(hasher.value(), hash128(data.data(), count)) << count << " bytes in pieces of " << piece;
    }
  }
}

TEST(Hash, EveryBitCounts) {
  auto data = bytes(257);
  const Hash128 before = hash128(data.data(), data.size());
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    EXPECT_FALSE(hash128(data.data(), data.size()) == before) << "bit " << bit;
    data[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
  }
}

TEST(Hash, TheValueMayBeAskedForInTheMiddleOfAStream) {
  const auto data = bytes(300);
  Hasher hasher;
  hasher.add(data.data(), 100);
  EXPECT_EQ(hasher.value(), hash128(data.data(), 100));
  hasher.add(data.data() + 100, 200);
  EXPECT_EQ(hasher.value(), hash128(data.data(), 300));
}

}  // namespace
}  // namespace trireme::io
