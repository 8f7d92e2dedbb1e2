#include "trireme/optim/gradient_sync.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace trireme::optim {
namespace {

using device::MemoryClass;
using kernels::Write;

tensor::Parameter parameter(const std::string& name, const tensor::Shape& shape, int bucket,
                            const std::string& tied_to = "") {
  tensor::Parameter made;
  made.name = name;
  made.global_shape = shape;
  made.shard = tensor::whole(shape);
  made.bucket = bucket;
  made.tied_to = tied_to;
  return made;
}

class GradientSyncOfOneRank : public testing::Test {
 protected:
  GradientSyncOfOneRank() {
    store.add(parameter("table", {5, 7}, 0));
    store.add(parameter("matrix", {3, 11}, 1));
    store.add(parameter("vector", {13}, 1));
    store.add(parameter("head", {5, 7}, 2, "table"));
  }
  // Buckets padded to 16 elements a parameter: 48, 48 + 16, 48.
  static constexpr std::int64_t gradient_elements = 48 + 64 + 48;
  static constexpr std::int64_t weight_elements = 48 + 64;

  device::Device device{{}};
  std::unique_ptr<comm::Communicator> self = comm::make_self_communicator();
  tensor::ParameterStore store;
};

TEST_F(GradientSyncOfOneRank, TakesOnePlusLogTwoOfLanesBuffers) {
  for (std::int64_t lanes : {1, 2, 4, 8}) {
    device::Arena arena;
    const GradientSync sync(device, store, *self, arena, {.micro_batches = 8, .lanes = lanes});
    const std::int64_t buffers = 1 + (lanes > 1) + (lanes > 2) + (lanes > 4);
    EXPECT_EQ(arena.used_bytes(MemoryClass::gradients), static_cast<std::size_t>(buffers * gradient_elements * 4));
    EXPECT_EQ(arena.used_bytes(MemoryClass::parameters), static_cast<std::size_t>(weight_elements * 4));
    EXPECT_EQ(arena.used_bytes(MemoryClass::buffers), 0U) << "one rank reduces nothing";
  }
}

TEST_F(GradientSyncOfOneRank, ForetellsItsMemory) {
  const GradientSyncOptions options{.micro_batches = 4, .lanes = 4};
  device::Arena measuring;
  { const GradientSync sync(device, store, *self, measuring, options); }
  device::Arena arena(measuring.used_bytes());
  const GradientSync sync(device, store, *self, arena, options);
  EXPECT_EQ(arena.used_bytes(), measuring.used_bytes());
}

TEST_F(GradientSyncOfOneRank, HandsOutWeightsButNotToASecondGradient) {
  device::Arena arena(1 << 20);
  const GradientSync sync(device, store, *self, arena, {});
  EXPECT_EQ(store.find("matrix")->weight.data, sync.weights(1).data);
  EXPECT_EQ(store.find("vector")->weight.as<float>(), sync.weights(1).as<float>() + 48);
  EXPECT_TRUE(store.find("head")->weight.empty());
  EXPECT_TRUE(sync.weights(2).empty());
  EXPECT_FALSE(store.find("head")->gradient.empty());
}

TEST_F(GradientSyncOfOneRank, SetsAtTheFirstMicroBatchOfALaneAndAddsAtTheOthers) {
  device::Arena arena(1 << 20);
  GradientSync sync(device, store, *self, arena, {.micro_batches = 6, .lanes = 2});
  for (int step = 0; step < 2; ++step) {
    sync.begin_step();
    for (int micro_batch = 0; micro_batch < 6; ++micro_batch) {
      EXPECT_EQ(sync.write(1), micro_batch % 3 == 0 ? Write::set : Write::add);
      for (int bucket : {2, 1, 0}) sync.bucket_done(bucket);
    }
    sync.finish();
  }
}

/// As a layer would: what a kernel adds to or sets.
void leave_gradient(const tensor::Parameter& parameter, Write write, float value) {
  float* const gradient = parameter.gradient.as<float>();
  for (std::int64_t i = 0; i < parameter.gradient.size(); ++i) {
    gradient[i] = write == Write::set ? value : gradient[i] + value;
  }
}

TEST_F(GradientSyncOfOneRank, AddsMicroBatchesInALaneAndLanesInATree) {
  device::Arena arena(1 << 20);
  GradientSync sync(device, store, *self, arena, {.micro_batches = 8, .lanes = 4});
  for (int step = 0; step < 3; ++step) {
    std::vector<float> value;
    for (int i = 0; i < 8; ++i) value.push_back(1.0F / static_cast<float>(3 + 5 * i + step));
    sync.begin_step();
    for (float v : value) {
      for (int bucket : {2, 1, 0}) {
        for (tensor::Parameter* member : store.bucket(bucket)) leave_gradient(*member, sync.write(bucket), v);
        sync.bucket_done(bucket);
      }
      sync.poll();
    }
    sync.finish();
    const float expected =
        ((value[0] + value[1]) + (value[2] + value[3])) + ((value[4] + value[5]) + (value[6] + value[7]));
    const float* const vector = sync.gradients(1).as<float>() + 48;
    for (int i = 0; i < 13; ++i) EXPECT_EQ(vector[i], expected);
    for (int i = 13; i < 16; ++i) EXPECT_EQ(vector[i], 0) << "padding";
    EXPECT_EQ(store.find("vector")->gradient.data, vector) << "the parameter shows the sum";
  }
}

}  // namespace
}  // namespace trireme::optim
