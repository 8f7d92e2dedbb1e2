// Memory by class is what the formulas say, for ranks that need not be there.
#include <string>

#include <gtest/gtest.h>

#include "trireme/optim/optimizer.hpp"

namespace trireme::optim {
namespace {

using device::MemoryClass;

// Rows that every group divides; 8 blocks, a table with a second gradient.
constexpr std::int64_t block_elements = 840 * 32;
constexpr std::int64_t table_elements = 1680 * 16;
constexpr int num_blocks = 8;
constexpr std::int64_t weight_elements = num_blocks * block_elements + table_elements;
constexpr std::int64_t gradient_elements = weight_elements + table_elements;

void add(tensor::ParameterStore& store, const std::string& name, const tensor::Shape& shape, int bucket,
         const std::string& tied_to = "") {
  tensor::Parameter made;
  made.name = name;
  made.global_shape = shape;
  made.shard = tensor::whole(shape);
  made.bucket = bucket;
  made.tied_to = tied_to;
  store.add(made);
}

struct Case {
  int zero_stage = 1;
  int data_size = 1;
  int group = 1;
  std::int64_t micro_batches = 1;
  std::int64_t lanes = 1;
  Dtype compute = Dtype::f32;
};

device::Arena laid_out(const Case& c, int rank, std::size_t capacity = 0) {
  tensor::ParameterStore store;
  add(store, "table", {1680, 16}, 0);
  WeightsOptions options{.sharded = c.zero_stage == 3, .compute = c.compute, .in_turn = {{}}};
  for (int block = 1; block <= num_blocks; ++block) {
    add(store, "block" + std::to_string(block), {840, 32}, block);
    options.in_turn[0].buckets.push_back(block);
  }
  add(store, "head", {1680, 16}, num_blocks + 1, "table");

  const device::Device device({});
  const auto axis = comm::make_planned_communicator(rank, c.data_size);
  const DataAxis data_axis(*axis, c.group);
  device::Arena arena = capacity == 0 ? device::Arena() : device::Arena(capacity);
  Weights weights(device, store, data_axis, arena, options);
  GradientSync gradients(device, data_axis, weights, arena,
                         {.micro_batches = c.micro_batches, .lanes = c.lanes, .sharded = c.zero_stage >= 2});
  const Optimizer optimizer(device, weights, gradients, data_axis, *axis, arena, {});
  return arena;
}

std::int64_t used(const device::Arena& arena, MemoryClass memory_class) {
  return static_cast<std::int64_t>(arena.used_bytes(memory_class));
}

TEST(Memory, OfWeightsGradientsAndMomentsIsTheFormulaOverTheGroup) {
  for (const int data_size : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (int group = 1; group <= data_size; ++group) {
      if (data_size % group != 0) continue;
      for (const int zero_stage : {1, 2, 3}) {
        for (int rank = 0; rank < data_size; ++rank) {
          const device::Arena arena = laid_out({zero_stage, data_size, group}, rank);
          SCOPED_TRACE(testing::Message() << "ZeRO " << zero_stage << ", " << data_size << " ranks, group " << group);
          EXPECT_EQ(used(arena, MemoryClass::parameters), 4 * weight_elements / (zero_stage == 3 ? group : 1));
          EXPECT_EQ(used(arena, MemoryClass::gradients), 4 * gradient_elements / (zero_stage >= 2 ? group : 1));
          EXPECT_EQ(used(arena, MemoryClass::moments), 8 * weight_elements / group);
          EXPECT_EQ(used(arena, MemoryClass::masters), 0);
        }
      }
    }
  }
}

TEST(Memory, OfHalfPrecisionIsTwoBytesAndTheMastersOverTheGroup) {
  for (const int group : {1, 2, 3, 6}) {
    for (const int zero_stage : {1, 2, 3}) {
      const Case c{.zero_stage = zero_stage, .data_size = 6, .group = group, .compute = Dtype::bf16};
      const device::Arena arena = laid_out(c, 5);
      SCOPED_TRACE(testing::Message() << "ZeRO " << zero_stage << ", group " << group);
      EXPECT_EQ(used(arena, MemoryClass::parameters), zero_stage == 3 && group > 1 ? 0 : 2 * weight_elements);
      EXPECT_EQ(used(arena, MemoryClass::masters), 4 * weight_elements / group);
      EXPECT_EQ(used(arena, MemoryClass::moments), 8 * weight_elements / group);
      EXPECT_EQ(used(arena, MemoryClass::gradients), 4 * gradient_elements / (zero_stage >= 2 ? group : 1));
    }
  }
}

TEST(Memory, OfGradientsGrowsWithTheLogarithmOfTheLanes) {
  for (const std::int64_t lanes : {1, 2, 4, 8}) {
    const device::Arena arena = laid_out({.data_size = 4, .group = 4, .micro_batches = 8, .lanes = lanes}, 1);
    const std::int64_t buffers = 1 + (lanes > 1) + (lanes > 2) + (lanes > 4);
    EXPECT_EQ(used(arena, MemoryClass::gradients), 4 * buffers * gradient_elements);
  }
}

TEST(Memory, OfPlacesIsTwoBlocksAndTheTables) {
  const std::int64_t weight_places = 4 * (2 * block_elements + table_elements);
  const std::int64_t gradient_places = 4 * (2 * block_elements + 2 * table_elements);
  // Recursive halving of two ranks receives half a bucket; two run at a time.
  const std::int64_t scratch = 4 * (table_elements / 2 + block_elements / 2);
  const Case c{.data_size = 2, .group = 2};
  const auto buffers = [&](int zero_stage) {
    Case other = c;
    other.zero_stage = zero_stage;
    return used(laid_out(other, 0), MemoryClass::buffers);
  };
  EXPECT_EQ(buffers(1), scratch);
  EXPECT_EQ(buffers(2), scratch + gradient_places);
  EXPECT_EQ(buffers(3), scratch + gradient_places + weight_places);
  Case half{.zero_stage = 3, .data_size = 2, .group = 2, .compute = Dtype::f16};
  EXPECT_EQ(used(laid_out(half, 0), MemoryClass::buffers), scratch + gradient_places + weight_places / 2);
  EXPECT_EQ(used(laid_out({.zero_stage = 3}, 0), MemoryClass::buffers), 0) << "one rank has all of it anyway";
}

TEST(Memory, IsForetoldByAMeasuringArena) {
  for (const int zero_stage : {0, 1, 2, 3}) {
    for (const Dtype compute : {Dtype::f32, Dtype::f16}) {
      const Case c{.zero_stage = zero_stage, .data_size = 6, .group = zero_stage == 0 ? 1 : 3, .compute = compute};
      const std::size_t bytes = laid_out(c, 4).used_bytes();
      EXPECT_EQ(laid_out(c, 4, bytes).used_bytes(), bytes);
    }
  }
}

}  // namespace
}  // namespace trireme::optim
