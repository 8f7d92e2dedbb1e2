#include "plan/work.hpp"

#include <gmock/gmock.h>

#include "plan/data_exchange.hpp"

namespace trireme::plan {
namespace {

using model::ModelOptions;
using model::Recompute;

const ModelOptions small = model::resolved({.layers = 6, .width = 32, .heads = 4, .context = 16, .vocab = 90});
constexpr std::int64_t rows = 48;

double flop_of(const PassWork& work) {
  return work.forward.flop + work.backward_input.flop + work.backward_weight.flop;
}

TEST(ChunkWork, SharesTheModelsFlopAmongStagesAndTensorRanks) {
  for (const int ranks : {1, 2, 4}) {
    for (const int stages : {1, 2, 3, 6}) {
      double flop = 0;
      for (const model::ChunkRange& chunk : model::partition(small, stages, 1, {})) {
        flop += ranks * flop_of(chunk_work(small, chunk, {}, {.rows = rows, .tensor_ranks = ranks}));
      }
      EXPECT_NEAR(flop, rows * model::flop_per_token(small), 1e-9 * flop);
    }
  }
}

TEST(ChunkWork, MakesAgainWhatIsRecomputedInItsLayersOnly) {
  const model::ChunkRange blocks{.first_block = 2, .num_blocks = 3};
  const WorkShape shape{.rows = rows};
  const PassWork plain = chunk_work(small, blocks, {}, shape);
  const PassWork full = chunk_work(small, blocks, {.mode = Recompute::full, .layers = {}}, shape);
  EXPECT_DOUBLE_EQ(full.backward_input.flop, flop_of(plain));
  EXPECT_DOUBLE_EQ(flop_of(full), flop_of(plain) + plain.forward.flop);
  EXPECT_EQ(full.backward_weight.flop, 0);
  const PassWork one = chunk_work(small, blocks, {.mode = Recompute::full, .layers = {0, 2}}, shape);
  EXPECT_DOUBLE_EQ(flop_of(one), flop_of(plain) + plain.forward.flop / 3);
  const PassWork core = chunk_work(small, blocks, {.mode = Recompute::selective, .layers = {}}, shape);
  EXPECT_DOUBLE_EQ(flop_of(core) - flop_of(plain), 3.0 * 2 * 32 * 16 * rows);
  EXPECT_EQ(core.forward.flop, plain.forward.flop);
}

TEST(ChunkWork, SendsNothingOnOneTensorRank) {
  const PassWork work = chunk_work(small, model::whole_model(small), {}, {.rows = rows});
  EXPECT_EQ(work.forward.tensor.bytes, 0);
  EXPECT_EQ(work.backward_input.tensor.messages, 0);
}

TEST(ChunkWork, GathersAndReducesRowsFourTimesABlockAndPass) {
  const WorkShape shape{.rows = rows, .tensor_ranks = 4};
  const double one = 0.75 * rows * 32 * 4;
  const PassWork block = chunk_work(small, {.num_blocks = 1}, {}, shape);
  for (const Work* pass : {&block.forward, &block.backward_input, &block.backward_weight}) {
    EXPECT_DOUBLE_EQ(pass->tensor.bytes, 4 * one);
    EXPECT_DOUBLE_EQ(pass->tensor.messages, 4 * 2);
  }
  const PassWork ends = chunk_work(small, {.embedding = true, .head = true}, {}, shape);
  EXPECT_DOUBLE_EQ(ends.forward.tensor.bytes, one);
  EXPECT_DOUBLE_EQ(ends.backward_input.tensor.bytes, 3 * one);
}

TEST(ChunkWork, InHalfPrecisionGathersHalvesAndReducesFp32) {
  const WorkShape shape{.rows = rows, .tensor_ranks = 4, .compute = Dtype::bf16};
  const double half = 0.75 * rows * 32 * 2;
  const PassWork block = chunk_work(small, {.num_blocks = 1}, {}, shape);
  EXPECT_DOUBLE_EQ(block.forward.tensor.bytes, 2 * half + 2 * 2 * half);
  EXPECT_DOUBLE_EQ(block.backward_input.tensor.bytes, 2 * half + 2 * 2 * half);
  EXPECT_DOUBLE_EQ(block.backward_weight.tensor.bytes, 4 * half);
  EXPECT_DOUBLE_EQ(block.forward.tensor.messages, 4 * 2);
  const PassWork ends = chunk_work(small, {.embedding = true, .head = true}, {}, shape);
  EXPECT_DOUBLE_EQ(ends.forward.tensor.bytes, 2 * half);
  EXPECT_DOUBLE_EQ(ends.backward_input.tensor.bytes, 4 * half);
}

TEST(ChunkWork, InHalfPrecisionHasHalfTheBytesOfActivationsAndThoseOfFp32OfGradientsOfWeights) {
  const auto bytes = [](Dtype compute, auto pass) {
    return (chunk_work(small, {.num_blocks = 1}, {}, {.rows = rows, .compute = compute}).*pass).memory_bytes;
  };
  for (const Dtype half : {Dtype::bf16, Dtype::f16}) {
    EXPECT_DOUBLE_EQ(bytes(half, &PassWork::forward), bytes(Dtype::f32, &PassWork::forward) / 2);
    EXPECT_DOUBLE_EQ(bytes(half, &PassWork::backward_input), bytes(Dtype::f32, &PassWork::backward_input) / 2);
    EXPECT_DOUBLE_EQ(bytes(half, &PassWork::backward_weight), bytes(Dtype::f32, &PassWork::backward_weight));
  }
  const auto head = [](Dtype compute) {
    return chunk_work(small, {.head = true}, {}, {.rows = rows, .compute = compute}).backward_input.memory_bytes;
  };
  EXPECT_DOUBLE_EQ(head(Dtype::f32) - head(Dtype::f16), 2.0 * (6 * rows * 32 + rows * 90));
}

TEST(DataExchange, SendsWhatItsTreesSend) {
  const DataShape shape{.ranks = 8, .group = 4, .link = {.latency_s = 1, .bytes_per_s = 10}, .buckets = 3};
  EXPECT_DOUBLE_EQ(reduce_inside(800, shape).sent.bytes, 600);
  EXPECT_DOUBLE_EQ(reduce_inside(800, shape).sent.messages, 6);
  EXPECT_DOUBLE_EQ(reduce_inside(800, shape).time_s, 6 + 60);
  EXPECT_DOUBLE_EQ(reduce_across(800, shape).sent.bytes, 200);  // there and back of a half of a quarter
  EXPECT_DOUBLE_EQ(gather_inside(800, {.ranks = 3, .group = 3, .link = {}, .buckets = 1}).sent.messages, 2);
  EXPECT_EQ(reduce_inside(800, {}).sent.bytes, 0);
}

TEST(DataExchange, HidesAllButTheLastBucketBeneathEnoughWork) {
  EXPECT_DOUBLE_EQ(exposed_s(12, 100, 4), 3);
  EXPECT_DOUBLE_EQ(exposed_s(12, 5, 4), 7);
  EXPECT_DOUBLE_EQ(exposed_s(0, 0, 4), 0);
}

}  // namespace
}  // namespace trireme::plan
