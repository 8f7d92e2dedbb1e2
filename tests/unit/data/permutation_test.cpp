#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "trireme/data/sample_order.hpp"

namespace trireme::data {
namespace {

std::vector<std::int64_t> whole(std::int64_t size, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::int64_t> images;
  for (std::int64_t i = 0; i < size; ++i) images.push_back(permute(i, size, seed, stream));
  return images;
}

TEST(Permute, IsOneToOneForEverySizeUpToAThousand) {
  for (std::int64_t size = 1; size <= 1000; ++size) {
    std::vector<bool> seen(static_cast<std::size_t>(size), false);
    for (const std::int64_t image : whole(size, 3, static_cast<std::uint64_t>(size))) {
      ASSERT_TRUE(image >= 0 && image < size);
      ASSERT_FALSE(seen[static_cast<std::size_t>(image)]) << size;
      seen[static_cast<std::size_t>(image)] = true;
    }
  }
}

TEST(Permute, StaysInRangeAndDistinctForSizesAboveTwoToThe32) {
  for (const std::int64_t size : {(std::int64_t{1} << 32) + 1, std::int64_t{1} << 40, (std::int64_t{1} << 56) - 1}) {
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < 20000; ++i) {
      const std::int64_t image = permute(size - 1 - i, size, 1, 2);
      ASSERT_TRUE(image >= 0 && image < size);
      seen.insert(image);
    }
    EXPECT_EQ(seen.size(), 20000U);
    EXPECT_GT(*seen.rbegin(), size / 100 * 99);
    EXPECT_LT(*seen.begin(), size / 100);
  }
}

TEST(Permute, IsAPureFunctionOfSeedAndStream) {
  EXPECT_EQ(whole(100, 5, 6), whole(100, 5, 6));
  EXPECT_NE(whole(100, 5, 6), whole(100, 6, 6));
  EXPECT_NE(whole(100, 5, 6), whole(100, 5, 7));
  EXPECT_NE(whole(100, 5, 6), whole(100, 6, 5));
}

TEST(Permute, SendsEachPlaceToEachPlaceAboutEquallyOften) {
  constexpr int num_streams = 6000;
  for (const std::int64_t size : {2, 3, 5, 8, 13}) {
    std::vector<int> counts(static_cast<std::size_t>(size * size), 0);
    for (std::uint64_t stream = 0; stream < num_streams; ++stream) {
      for (std::int64_t i = 0; i < size; ++i)
        ++counts[static_cast<std::size_t>(i * size + permute(i, size, 1, stream))];
    }
    const double expected = static_cast<double>(num_streams) / static_cast<double>(size);
    for (const int count : counts) EXPECT_NEAR(count, expected, 6 * std::sqrt(expected)) << "size " << size;
  }
}

}  // namespace
}  // namespace trireme::data
