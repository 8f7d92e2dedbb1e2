#include "trireme/model/partition.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include <gmock/gmock.h>

#include "trireme/base/error.hpp"
#include "trireme/model/counts.hpp"

namespace trireme::model {
namespace {

using testing::HasSubstr;
using Counts = std::vector<std::int64_t>;

ModelOptions model_of(std::int64_t layers, std::int64_t vocab = 1) {
  return resolved({.layers = layers, .width = 8, .heads = 2, .context = 4, .vocab = vocab});
}

Counts blocks_of(const std::vector<ChunkRange>& ranges) {
  Counts counts;
  for (const ChunkRange& range : ranges) counts.push_back(range.num_blocks);
  return counts;
}

/// Of the largest stage, all its chunks together, in blocks.
double largest_stage(const ModelOptions& options, const Counts& blocks, int stages) {
  const double head = 6.0 * static_cast<double>(options.vocab * options.width);
  const double block = (flop_per_token(options) - head) / static_cast<double>(options.layers);
  double largest = 0;
  for (int stage = 0; stage < stages; ++stage) {
    double time = stage == stages - 1 ? head / block : 0;
    for (std::size_t part = static_cast<std::size_t>(stage); part < blocks.size();
         part += static_cast<std::size_t>(stages)) {
      time += static_cast<double>(blocks[part]);
    }
    largest = std::max(largest, time);
  }
  return largest;
}

/// The least largest_stage() of all cuts, by trying them all; the last of several stages of one chunk may be without
/// blocks.
double best_largest_stage(const ModelOptions& options, int stages, int chunks) {
  Counts blocks(static_cast<std::size_t>(stages * chunks));
  double best = std::numeric_limits<double>::infinity();
  const std::function<void(std::size_t, std::int64_t)> fill = [&](std::size_t part, std::int64_t left) {
    if (part + 1 == blocks.size()) {
      blocks[part] = left;
      best = std::min(best, largest_stage(options, blocks, stages));
      return;
    }
    const auto parts_after = static_cast<std::int64_t>(blocks.size() - part - 1) - (chunks == 1 ? 1 : 0);
    for (std::int64_t count = 1; count <= left - parts_after; ++count) {
      blocks[part] = count;
      fill(part + 1, left - count);
    }
  };
  fill(0, options.layers);
  return best;
}

std::string refusal(std::int64_t layers, int stages, int chunks, const Counts& given = {}) {
  try {
    return "accepted as " + testing::PrintToString(blocks_of(partition(model_of(layers), stages, chunks, given)));
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Partition, CutsTheBlocksInOrderWithoutGapsAndPutsTheEndsAtTheEnds) {
  for (const int stages : {1, 2, 3, 5}) {
    for (const int chunks : {1, 2, 3}) {
      const std::vector<ChunkRange> ranges = partition(model_of(17, 100), stages, chunks, {});
      ASSERT_EQ(ranges.size(), static_cast<std::size_t>(stages * chunks));
      std::int64_t next = 0;
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        EXPECT_EQ(ranges[i].first_block, next);
        EXPECT_GE(ranges[i].num_blocks, 1);
        EXPECT_EQ(ranges[i].embedding, i == 0);
        EXPECT_EQ(ranges[i].head, i + 1 == ranges.size());
        next = ranges[i].end_block();
      }
      EXPECT_EQ(next, 17);
    }
  }
}

TEST(Partition, OfOneStageIsTheWholeModel) {
  EXPECT_EQ(partition(model_of(3), 1, 1, {}), std::vector<ChunkRange>{whole_model(model_of(3))});
}

TEST(Partition, MakesTheLargestStageAsSmallAsItCanBe) {
  for (const std::int64_t vocab : {1, 30, 150, 400, 1000}) {
    for (std::int64_t layers = 4; layers <= 11; ++layers) {
      for (const auto& [stages, chunks] : {std::pair{2, 1}, {3, 1}, {4, 1}, {2, 2}}) {
        const ModelOptions options = model_of(layers, vocab);
        const Counts blocks = blocks_of(partition(options, stages, chunks, {}));
        EXPECT_DOUBLE_EQ(largest_stage(options, blocks, stages), best_largest_stage(options, stages, chunks))
            << vocab << " " << layers << " " << stages << " " << testing::PrintToString(blocks);
      }
    }
  }
}

TEST(Partition, LeavesEarlierStagesFewerBlocksOfEqualCuts) {
  EXPECT_EQ(blocks_of(partition(model_of(5, 0), 3, 1, {})), (Counts{1, 2, 2}));
  EXPECT_EQ(blocks_of(partition(model_of(7, 0), 2, 2, {})), (Counts{1, 2, 2, 2}));
}

TEST(Partition, CountsTheHead) {
  // A block of width 8 has 6 * 768 + 6 * 8 * 4 = 4800 FLOP a token, a head of 100 tokens as many.
  EXPECT_EQ(blocks_of(partition(model_of(7, 100), 2, 1, {})), (Counts{4, 3}));
  EXPECT_EQ(blocks_of(partition(model_of(8, 400), 2, 1, {})), (Counts{6, 2}));
  EXPECT_EQ(blocks_of(partition(model_of(4, 4000), 2, 1, {})), (Counts{4, 0}));
}

TEST(Partition, TakesGivenNumbersAndEndsWithoutBlocks) {
  EXPECT_EQ(blocks_of(partition(model_of(5), 3, 1, {0, 5, 0})), (Counts{0, 5, 0}));
  EXPECT_EQ(blocks_of(partition(model_of(5), 2, 2, {1, 2, 2, 0})), (Counts{1, 2, 2, 0}));
  EXPECT_TRUE(partition(model_of(5), 2, 1, {0, 5}).front().embedding);
}

TEST(Partition, RefusesFewerBlocksThanPartsWithLegalNumbers) {
  EXPECT_EQ(refusal(5, 3, 2),
            "`model.layers` is `5` (`grid.pipeline` of 3 and `pipeline.chunks` of 2 make 6 parts, and each needs a "
            "block unless `pipeline.layers_per_stage` says otherwise) use `grid.pipeline` of at most 2 or "
            "`pipeline.chunks` of at most 1 or at least 6 layers");
  EXPECT_THAT(refusal(1, 2, 1), HasSubstr("use `grid.pipeline` of at most 1 or at least 2 layers"));
  EXPECT_EQ(refusal(6, 3, 2), "accepted as { 1, 1, 1, 1, 1, 1 }");
}

TEST(Partition, RefusesGivenNumbersThatAreNotOneAPart) {
  EXPECT_EQ(refusal(5, 2, 1, {5}),
            "`pipeline.layers_per_stage` has 1 number (`grid.pipeline` of 2 and `pipeline.chunks` of 1 make 2 parts) "
            "give one a part, in the order of the model");
  EXPECT_THAT(refusal(5, 2, 2, {2, 3}), HasSubstr("make 4 parts) give one a part, in the order of the model: the first "
                                                  "chunks of all stages, then the second ones, ..."));
}

TEST(Partition, RefusesGivenNumbersThatDoNotAddUp) {
  EXPECT_EQ(refusal(5, 2, 1, {2, 2}),
            "`pipeline.layers_per_stage` = [2, 2] does not add up to `model.layers` = 5 (every block stands on one "
            "stage) change one of them");
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(refusal(5, 3, 1, {huge, huge, 7}), HasSubstr("does not add up"));
}

TEST(Partition, RefusesAnEmptyPartBetweenTheEnds) {
  EXPECT_EQ(refusal(5, 3, 1, {2, 0, 3}),
            "`pipeline.layers_per_stage` gives 0 blocks to part 1 of 0 ... 2 (only the first, which has the embedding, "
            "and the last, which has the head, can do without) give it at least 1");
  EXPECT_THAT(refusal(5, 2, 1, {-1, 6}), HasSubstr("gives -1 blocks to part 0"));
}

}  // namespace
}  // namespace trireme::model
