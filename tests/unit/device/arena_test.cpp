#include "trireme/device/arena.hpp"

#include <cstdint>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

namespace trireme::device {
namespace {

TEST(Arena, HandsOutZeroedBlocksOn64Bytes) {
  Arena arena(1 << 20);
  for (std::size_t bytes : {1, 64, 65, 4097, 0, 3}) {
    auto* block = static_cast<unsigned char*>(arena.allocate(bytes, MemoryClass::buffers));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    for (std::size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(block[i], 0);
      block[i] = 0xff;  // a block that overlapped this one would not be zero
    }
  }
}

TEST(Arena, MeasuresWhatARealOneUses) {
  Arena measuring;
  Arena real(1 << 16);
  EXPECT_TRUE(measuring.measuring());
  EXPECT_FALSE(real.measuring());
  for (std::size_t bytes : {7, 64, 1000}) {
    EXPECT_EQ(measuring.allocate(bytes, MemoryClass::moments), nullptr);
    EXPECT_NE(real.allocate(bytes, MemoryClass::moments), nullptr);
  }
  measuring.allocate(1, MemoryClass::gradients);
  real.allocate(1, MemoryClass::gradients);
  EXPECT_EQ(measuring.used_bytes(), 64U + 64 + 1024 + 64);
  EXPECT_EQ(measuring.used_bytes(), real.used_bytes());
  EXPECT_EQ(measuring.used_bytes(MemoryClass::moments), 64U + 64 + 1024);
  EXPECT_EQ(measuring.used_bytes(MemoryClass::gradients), 64U);
  EXPECT_EQ(measuring.used_bytes(MemoryClass::parameters), 0U);
}

TEST(Arena, CanBeFilledExactlyAndNotBeyond) {
  Arena arena(128);
  EXPECT_NE(arena.allocate(64, MemoryClass::buffers), nullptr);
  EXPECT_NE(arena.allocate(33, MemoryClass::buffers), nullptr);
  try {
    arena.allocate(1, MemoryClass::masters);
    FAIL() << "an exhausted arena gave memory";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot lay out 1 bytes of masters"));
  }
  EXPECT_THROW(arena.allocate(SIZE_MAX - 3, MemoryClass::buffers), SystemError);
}

TEST(Arena, RefusesMoreThanTheSystemHasAndSaysHowMuch) {
  try {
    const Arena arena(std::size_t{1} << 60);
    FAIL() << "an exbibyte was mapped";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("1152921504606846976 bytes"));
  }
}

TEST(Arena, MovesWithItsMemory) {
  Arena first(4096);
  void* block = first.allocate(64, MemoryClass::buffers);
  Arena second(std::move(first));
  EXPECT_EQ(second.used_bytes(), 64U);
  static_cast<char*>(block)[0] = 1;
  Arena third;
  third = std::move(second);
  EXPECT_EQ(third.capacity_bytes(), 4096U);
  static_cast<char*>(block)[63] = 1;
}

}  // namespace
}  // namespace trireme::device
