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
  device::Device device{{}};
  std::unique_ptr<comm::Communicator> self = comm::make_self_communicator();
  DataAxis data_axis{*self};
  tensor::ParameterStore store;
};

TEST_F(GradientSyncOfOneRank, PointsTheEntriesToTheirGradients) {
  device::Arena arena(1 << 20);
  const Weights weights(device, store, data_axis, arena);
  const GradientSync sync(device, data_axis, weights, arena, {});
  EXPECT_EQ(store.find("matrix")->gradient.as<float>(), sync.own(1).data());
  EXPECT_EQ(store.find("vector")->gradient.as<float>(), sync.own(1).data() + 48);
  EXPECT_EQ(store.find("head")->gradient.as<float>(), sync.own(2).data());
}

TEST_F(GradientSyncOfOneRank, SetsAtTheFirstMicroBatchOfALaneAndAddsAtTheOthers) {
  device::Arena arena(1 << 20);
  const Weights weights(device, store, data_axis, arena);
  GradientSync sync(device, data_axis, weights, arena, {.micro_batches = 6, .lanes = 2});
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
  const Weights weights(device, store, data_axis, arena);
  GradientSync sync(device, data_axis, weights, arena, {.micro_batches = 8, .lanes = 4});
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
    const float* const vector = sync.own(1).data() + 48;
    for (int i = 0; i < 13; ++i) EXPECT_EQ(vector[i], expected);
    EXPECT_EQ(store.find("vector")->gradient.data, vector) << "the parameter shows the sum";
  }
}

TEST_F(GradientSyncOfOneRank, AddsMicroBatchesInOrderWhenShardedInAGroupOfOne) {
  device::Arena arena(1 << 20);
  const Weights weights(device, store, data_axis, arena, {.sharded = true});
  GradientSync sync(device, data_axis, weights, arena, {.micro_batches = 4, .lanes = 4, .sharded = true});
  sync.begin_step();
  float expected = 0;
  for (int micro_batch = 0; micro_batch < 4; ++micro_batch) {
    const float value = 1.0F / static_cast<float>(3 + micro_batch);
    expected = micro_batch == 0 ? value : expected + value;
    for (int bucket : {2, 1, 0}) {
      const Write write = sync.write(bucket);
      for (tensor::Parameter* member : store.bucket(bucket)) leave_gradient(*member, write, value);
      sync.bucket_done(bucket);
    }
  }
  sync.finish();
  EXPECT_EQ(sync.own(1)[32], expected);
}

TEST_F(GradientSyncOfOneRank, LeavesBucketsThatFollowToOthers) {
  tensor::ParameterStore far;
  far.add(parameter("table", {5, 7}, 0)).follows = true;
  far.add(parameter("mine", {4}, 1));
  far.add(parameter("head", {5, 7}, 2, "elsewhere")).follows = true;
  device::Arena arena(1 << 20);
  const Weights weights(device, far, data_axis, arena);
  GradientSync sync(device, data_axis, weights, arena, {});
  EXPECT_TRUE(sync.own(0).empty());
  EXPECT_EQ(sync.own(2).size(), 48U);
  EXPECT_TRUE(far.find("table")->gradient.empty());
  EXPECT_TRUE(far.find("head")->gradient.empty());
  EXPECT_FALSE(far.find("table")->weight.empty());
  sync.begin_step();
  EXPECT_EQ(sync.write(1), Write::set);
  sync.bucket_done(1);
  sync.finish();
}

}  // namespace
}  // namespace trireme::optim
