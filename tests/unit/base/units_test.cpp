#include "trireme/base/units.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(FormatBytes, UsesPowersOf1024) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(3ULL << 29), "1.50 GiB");
  EXPECT_EQ(format_bytes((1ULL << 30) - 1), "1.00 GiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16.00 EiB");
}

TEST(FormatCount, KeepsThreeDigits) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(97), "97");
  EXPECT_EQ(format_count(1000), "1 K");
  EXPECT_EQ(format_count(124'439'808), "124 M");
  EXPECT_EQ(format_count(1'500'000'000), "1.5 B");
  EXPECT_EQ(format_count(12'340), "12.3 K");
  EXPECT_EQ(format_count(999'499), "999 K");
  EXPECT_EQ(format_count(999'500), "1 M");
  EXPECT_EQ(format_count(100'000), "100 K");
}

TEST(FormatSeconds, ChoosesTheUnitsPeopleUse) {
  EXPECT_EQ(format_seconds(1.25), "1.25 s");
  EXPECT_EQ(format_seconds(0.0004), "0.0004 s");
  EXPECT_EQ(format_seconds(59.96), "1 min 00 s");
  EXPECT_EQ(format_seconds(200), "3 min 20 s");
  EXPECT_EQ(format_seconds(3599.6), "1 h 00 min");
  EXPECT_EQ(format_seconds(7500), "2 h 05 min");
  EXPECT_EQ(format_seconds(-200), "-3 min 20 s");
  EXPECT_EQ(format_seconds(std::numeric_limits<double>::infinity()), "unknown");
}

}  // namespace
}  // namespace trireme
