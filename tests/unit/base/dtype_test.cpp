#include "trireme/base/dtype.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace trireme {
namespace {

constexpr Dtype all[] = {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::i32,
                         Dtype::i64, Dtype::u8,  Dtype::u16,  Dtype::u64};

TEST(Dtype, SizesAreThoseOfTheElementTypes) {
  EXPECT_EQ(size_of(dtype_of<float>), sizeof(float));
  EXPECT_EQ(size_of(dtype_of<double>), sizeof(double));
  EXPECT_EQ(size_of(dtype_of<Bf16>), sizeof(Bf16));
  EXPECT_EQ(size_of(dtype_of<Fp16>), sizeof(Fp16));
  EXPECT_EQ(size_of(dtype_of<std::int32_t>), sizeof(std::int32_t));
  EXPECT_EQ(size_of(dtype_of<std::int64_t>), sizeof(std::int64_t));
  EXPECT_EQ(size_of(dtype_of<std::uint8_t>), sizeof(std::uint8_t));
  EXPECT_EQ(size_of(dtype_of<std::uint16_t>), sizeof(std::uint16_t));
  EXPECT_EQ(size_of(dtype_of<std::uint64_t>), sizeof(std::uint64_t));
}

TEST(Dtype, NamesAreDistinctAndFamiliar) {
  std::set<std::string> names;
  for (const Dtype dtype : all) {
    names.emplace(name_of(dtype));
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"fp32", "fp64", "bf16", "fp16", "int32", "int64", "uint8", "uint16", "uint64"}));
}

}  // namespace
}  // namespace trireme
