#include "trireme/tensor/tensor.hpp"

#include <array>

#include <gtest/gtest.h>

namespace trireme::tensor {
namespace {

TEST(Shape, CountsItsElementsAndRows) {
  const Shape shape{4, 7, 3};
  EXPECT_EQ(shape.num_dims(), 3);
  EXPECT_EQ(shape.size(), 84);
  EXPECT_EQ(shape.columns(), 3);
  EXPECT_EQ(shape.rows(), 28);
  EXPECT_EQ(shape.text(), "[4, 7, 3]");
}

TEST(Shape, MayBeEmptyOrWithoutDimensions) {
  const Shape empty{0, 5};
  EXPECT_EQ(empty.size(), 0);
  EXPECT_EQ(empty.rows(), 0);
  EXPECT_EQ((Shape{5, 0}.rows()), 0);
  const Shape scalar;
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(scalar.columns(), 1);
  EXPECT_EQ(scalar.rows(), 1);
  EXPECT_EQ(scalar.text(), "[]");
}

TEST(Shape, DiffersByExtentAndByNumberOfDimensions) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 0}));
}

TEST(Tensor, ViewsRowsAndOtherShapesOfTheSameMemory) {
  std::array<float, 24> memory{};
  const Tensor whole{.data = memory.data(), .shape = {4, 2, 3}};
  const Tensor part = whole.rows(1, 2);
  EXPECT_EQ(part.as<float>(), memory.data() + 6);
  EXPECT_EQ(part.shape, (Shape{2, 2, 3}));
  EXPECT_EQ(part.bytes(), 48U);
  EXPECT_EQ(whole.rows(4, 0).size(), 0);
  EXPECT_EQ(part.reshaped({4, 3}).as<float>(), memory.data() + 6);
}

TEST(Tensor, IsLaidOutInAnArenaOrOnlyMeasured) {
  device::Arena arena(4096);
  const Tensor real = allocate(arena, {3, 5}, Dtype::bf16, device::MemoryClass::activations);
  EXPECT_FALSE(real.empty());
  EXPECT_EQ(real.bytes(), 30U);
  EXPECT_EQ(real.as<Bf16>()[14].bits, 0);
  device::Arena measuring;
  const Tensor foretold = allocate(measuring, {3, 5}, Dtype::bf16, device::MemoryClass::activations);
  EXPECT_TRUE(foretold.empty());
  EXPECT_TRUE(foretold.rows(1, 2).empty());
  EXPECT_EQ(measuring.used_bytes(), arena.used_bytes());
}

}  // namespace
}  // namespace trireme::tensor
