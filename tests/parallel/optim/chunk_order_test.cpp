// Stages of several chunks finish a bucket's micro-batches one right after the other, before those of other buckets.
#include <gtest/gtest.h>

#include "trireme/optim/gradient_sync.hpp"

#include "parallel/parallel.hpp"

namespace trireme::optim {
namespace {

using testing::world;

TEST(ChunkOrder, LeavesNoMicroBatchOutOfTheShardedSum) {
  constexpr std::int64_t micro_batches = 4;
  const device::Device device({});
  device::Arena arena(8 << 20);
  tensor::ParameterStore store;
  for (int block = 0; block < 3; ++block) {
    tensor::Parameter made;
    made.name = "block" + std::to_string(block);
    made.global_shape = {512, 256};
    made.shard = tensor::whole(made.global_shape);
    made.bucket = block;
    store.add(made);
  }
  const DataAxis data_axis(world());
  const Weights weights(device, store, data_axis, arena, {.in_turn = {{.buckets = {0, 1, 2}}}});
  GradientSync gradients(device, data_axis, weights, arena, {.micro_batches = micro_batches, .sharded = true});

  for (int step = 0; step < 2; ++step) {
    gradients.begin_step();
    for (int block = 0; block < 3; ++block) {
      for (int i = 0; i < micro_batches; ++i) {
        const kernels::Write write = gradients.write(block);
        const tensor::Tensor& gradient = store.find("block" + std::to_string(block))->gradient;
        // Small integers: exact in any order.
        const auto value = static_cast<float>((world().rank() + 1) * (1 << i) + block + step);
        for (std::int64_t e = 0; e < gradient.size(); ++e) {
          gradient.as<float>()[e] = write == kernels::Write::set ? value : gradient.as<float>()[e] + value;
        }
        gradients.bucket_done(block);
      }
    }
    gradients.finish();
    const std::int64_t ranks = world().size();
    for (int block = 0; block < 3; ++block) {
      const auto expected = static_cast<float>(ranks * (ranks + 1) / 2 * 15 + ranks * micro_batches * (block + step));
      std::int64_t wrong = 0;
      for (float value : gradients.own(block)) wrong += value != expected;
      EXPECT_EQ(wrong, 0) << "block " << block;
    }
  }
}

}  // namespace
}  // namespace trireme::optim
