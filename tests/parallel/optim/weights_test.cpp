// Weights that are there for a while: which place a bucket gets, and that copies from before an update are not read.
#include "trireme/optim/weights.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "trireme/kernels/cast.hpp"

#include "parallel/parallel.hpp"

namespace trireme::optim {
namespace {

using testing::world;

constexpr int num_blocks = 5;

/// Blocks of 8 rows a rank, all numbers of block b are 10 b; two places.
class ShardedWeights : public ::testing::TestWithParam<Dtype> {
 protected:
  ShardedWeights() {
    for (int block = 0; block < num_blocks; ++block) {
      tensor::Parameter made;
      made.name = "block" + std::to_string(block);
      made.global_shape = {8L * world().size(), 16};
      made.shard = tensor::whole(made.global_shape);
      made.bucket = block;
      store.add(made);
    }
    weights = std::make_unique<Weights>(
        device, store, data_axis, arena,
        WeightsOptions{.sharded = true, .compute = GetParam(), .in_turn = {{.buckets = {0, 1, 2, 3, 4}}}});
    set(0);
  }

  void set(int version) {
    for (int block = 0; block < num_blocks; ++block) {
      for (float& value : weights->own(block)) value = static_cast<float>(10 * block + version);
      weights->start_share(block);
    }
    weights->finish_share();
  }

  /// What a layer of the block reads, the same number everywhere, or -1.
  [[nodiscard]] float read(int block) {
    const tensor::Tensor& weight = store.find("block" + std::to_string(block))->weight;
    std::vector<float> numbers(static_cast<std::size_t>(weight.size()));
    kernels::cast(device, weight, {.data = numbers.data(), .shape = weight.shape});
    const bool equal = std::count(numbers.begin(), numbers.end(), numbers.front()) == weight.size();
    return equal ? numbers.front() : -1;
  }
  [[nodiscard]] const void* address(int block) { return store.find("block" + std::to_string(block))->weight.data; }

  device::Device device{{}};
  device::Arena arena{1 << 20};
  tensor::ParameterStore store;
  DataAxis data_axis{world()};
  std::unique_ptr<Weights> weights;
};

TEST_P(ShardedWeights, AreReadableFromAcquireToRelease) {
  for (int pass = 0; pass < 2; ++pass) {
    for (int block = 0; block < num_blocks; ++block) {
      weights->acquire(block);
      if (block + 1 < num_blocks) weights->prefetch(block + 1);
      EXPECT_EQ(read(block), 10 * block);
      weights->release(block);
    }
  }
}

TEST_P(ShardedWeights, OfTwoUsersLeaveWithTheSecond) {
  weights->acquire(0);
  weights->acquire(0);
  weights->release(0);
  weights->acquire(1);
  EXPECT_EQ(read(0), 0);
  EXPECT_EQ(read(1), 10);
  weights->release(0);
  weights->release(1);
  EXPECT_EQ(address(1) == nullptr, world().size() > 1) << "nobody may read what was released";
}

TEST_P(ShardedWeights, AreNotPrefetchedWithoutAFreePlaceAndGiveWayUnlessInUse) {
  weights->acquire(0);
  weights->prefetch(1);
  weights->prefetch(2);  // no place: nothing happens
  weights->acquire(3);   // takes the place of 1
  EXPECT_EQ(read(0), 0);
  EXPECT_EQ(read(3), 30);
  weights->release(3);
  weights->acquire(1);
  EXPECT_EQ(read(1), 10);
  weights->release(0);
  weights->release(1);
}

TEST_P(ShardedWeights, KeepWhatWasReleasedLastUntilThePlaceIsWanted) {
  if (world().size() == 1) GTEST_SKIP() << "one rank has all weights in their own memory";
  weights->acquire(0);
  const void* const place = address(0);
  weights->release(0);
  weights->acquire(1);
  weights->release(1);
  weights->acquire(0);
  EXPECT_EQ(address(0), place);
  weights->release(0);
  weights->acquire(2);
  EXPECT_NE(address(2), place) << "the place that was used least recently";
  weights->release(2);
}

TEST_P(ShardedWeights, OfBeforeAnUpdateAreForgotten) {
  weights->acquire(0);
  weights->release(0);
  weights->prefetch(1);
  set(7);
  for (int block = 0; block < num_blocks; ++block) {
    weights->acquire(block);
    EXPECT_EQ(read(block), 10 * block + 7);
    weights->release(block);
  }
}

INSTANTIATE_TEST_SUITE_P(Precision, ShardedWeights, ::testing::Values(Dtype::f32, Dtype::bf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace trireme::optim
