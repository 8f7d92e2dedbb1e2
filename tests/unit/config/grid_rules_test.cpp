// Rules about the grid, as far as the deck alone tells.
#include <gmock/gmock.h>

#include "unit/config/decks.hpp"

namespace trireme::config {
namespace {

using testing::HasSubstr;

TEST(GridRules, LeaveOneAxisToFill) {
  EXPECT_EQ(problems_after("[grid]\ntensor = 0\n"),
            "d.toml:14: `grid.tensor` and `grid.data` are 0 (only one axis can be filled with the ranks that are left) "
            "set all but one of them");
  EXPECT_EQ(problems_after("", {"grid.tensor=0", "grid.data=1"}), "");
  EXPECT_EQ(problems_after("", {"grid.pipeline=0", "grid.data=2"}), "");
  EXPECT_THAT(problems_after("", {"grid.pipeline=0", "grid.tensor=0", "grid.data=2"}), HasSubstr("set all but one"));
}

TEST(GridRules, CutTheModelAlongTheTensorAxis) {
  EXPECT_EQ(
      problems_after("", {"grid.tensor=3"}),
      "command line: `grid.tensor` is `3` (as many slices do not fit the model: `model.heads` is 4, "
      "`model.kv_heads` 4, `model.mlp_width` 128, and `numerics.tensor_slices` is a multiple of it) use one of 1, "
      "2, 4");
  EXPECT_THAT(problems_after("kv_heads = 2\n", {"grid.tensor=8"}), HasSubstr("`model.kv_heads` 2"));
  EXPECT_EQ(problems_after("kv_heads = 1\n", {"grid.tensor=4"}), "");
  EXPECT_THAT(problems_after("mlp_width = 126\n", {"grid.tensor=4"}), HasSubstr("use one of 1, 2"));
}

TEST(GridRules, TakeSlicesThatFitModelAndAxis) {
  EXPECT_THAT(problems_after("", {"numerics.tensor_slices=3"}),
              HasSubstr("command line: `numerics.tensor_slices` is `3` (not a power of two;"));
  EXPECT_THAT(problems_after("", {"numerics.tensor_slices=8"}), HasSubstr("use one of 0 (automatic), 1, 2, 4"));
  EXPECT_THAT(problems_after("", {"numerics.tensor_slices=2", "grid.tensor=4"}),
              HasSubstr("not a multiple of the tensor axis"));
  EXPECT_EQ(problems_after("", {"numerics.tensor_slices=4", "grid.tensor=2"}), "");
}

TEST(GridRules, GiveChunksToTheInterleavedScheduleOnly) {
  EXPECT_EQ(problems_after("[pipeline]\nchunks = 2\n"),
            "d.toml:14: pipeline.chunks = 2: needs `pipeline.schedule = \"interleaved\"` (with `1f1b` a stage is one "
            "part of the model) change one of them");
  EXPECT_EQ(problems_after("[pipeline]\nchunks = 2\nschedule = \"interleaved\"\n"), "");
  EXPECT_EQ(problems_after("[pipeline]\nschedule = \"interleaved\"\n"), "");
}

TEST(GridRules, HaveABlockForEveryPartOfThePipeline) {
  EXPECT_EQ(
      problems_after("", {"grid.pipeline=3"}),
      "command line: `model.layers` is `2` (`grid.pipeline` of 3 and `pipeline.chunks` of 1 make 3 parts, and each "
      "needs a block unless `pipeline.layers_per_stage` says otherwise) use `grid.pipeline` of at most 2 or at "
      "least 3 layers");
  EXPECT_THAT(problems_after("", {"grid.pipeline=2", "pipeline.chunks=2", "pipeline.schedule=interleaved"}),
              HasSubstr("`pipeline.chunks` of at most 1"));
  EXPECT_EQ(problems_after("", {"grid.pipeline=2"}), "");
  EXPECT_EQ(problems_after("", {"grid.pipeline=4", "pipeline.layers_per_stage=[0, 1, 1, 0]"}), "");
}

TEST(GridRules, AddUpTheListedBlocksEvenWhenTheAxisIsToBeFilled) {
  for (const char* grid : {"grid.pipeline=2", "grid.pipeline=1", "grid.pipeline=0"}) {
    EXPECT_EQ(problems_after("", {grid, "grid.data=1", "pipeline.layers_per_stage=[1, 2]"}),
              "command line: `pipeline.layers_per_stage` = [1, 2] does not add up to `model.layers` = 2 (every block "
              "stands on one stage) change one of them");
    EXPECT_EQ(problems_after("", {grid, "grid.data=1", "pipeline.layers_per_stage=[1, 1]"}), "");
  }
  EXPECT_THAT(problems_after("", {"grid.pipeline=3", "pipeline.layers_per_stage=[1, 1]"}),
              HasSubstr("has 2 numbers (`grid.pipeline` of 3"));
  EXPECT_THAT(problems_after("", {"grid.pipeline=0", "grid.data=1", "pipeline.chunks=2",
                                  "pipeline.schedule=interleaved", "pipeline.layers_per_stage=[1, 0, 1]"}),
              HasSubstr("has 3 numbers (`pipeline.chunks` = 2) give one for each chunk of each stage"));
}

TEST(GridRules, RunEveryScheduleOnOneStage) {
  for (const char* schedule : {"naive", "gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_h2"}) {
    EXPECT_EQ(problems_after("", {std::string("pipeline.schedule=") + schedule, "grid.pipeline=1"}), "");
  }
  EXPECT_EQ(problems_after("", {"pipeline.schedule=interleaved", "pipeline.chunks=7", "grid.pipeline=1"}), "");
}

TEST(GridRules, ShareOutInGroupsThatDivideTheDataAxis) {
  EXPECT_EQ(problems_after("", {"sharding.group=2", "sharding.zero_stage=0"}),
            "command line: sharding.group = 2: needs `sharding.zero_stage` of 1 to 3 (with 0 every rank keeps "
            "everything) raise it, or set the group to 0");
  EXPECT_EQ(problems_after("", {"sharding.group=3", "grid.data=4"}),
            "command line: `sharding.group` is `3` (it does not divide the 4 data ranks of `grid.data`) use one of 0 "
            "(all), 1, 2, 4");
  EXPECT_EQ(problems_after("", {"sharding.group=3"}), "");
  EXPECT_EQ(problems_after("", {"sharding.group=2", "grid.data=4", "sharding.zero_stage=3"}), "");
}

TEST(GridRules, RecomputeBlocksThatAreThere) {
  EXPECT_EQ(
      problems_after("[recompute]\nmode = \"full\"\nlayers = [0, 2]\n"),
      "d.toml:15: recompute.layers = [0, 2]: has block 2, which is not there (`model.layers = 2`, counted from 0) "
      "choose 0 ... 1");
  EXPECT_EQ(problems_after("[recompute]\nmode = \"full\"\nlayers = [0, 1]\n"), "");
}

TEST(BatchRules, WantMicroBatchesThatAreWholeAndShared) {
  EXPECT_EQ(
      problems_after("[grid]\ndata = 3\n", {"batch.global=24", "batch.micro=2", "grid.data=5"}),
      "command line: grid.data = 5: does not divide the 12 micro-batches of `batch.global = 24` and `batch.micro = "
      "2` (every rank has as many) choose one of 1, 2, 3, 4, 6, 12");
  EXPECT_EQ(
      problems_after("", {"batch.global=24", "batch.micro=3", "grid.data=3"}),
      "command line: grid.data = 3: does not divide the 8 micro-batches of `batch.global = 24` and `batch.micro = "
      "3` (every rank has as many) choose one of 1, 2, 4, 8, or `batch.micro` of 1, 2, 4, 8");
  EXPECT_EQ(problems_after("", {"batch.micro=3"}),
            "command line: batch.micro = 3: does not divide `batch.global = 8` (every micro-batch has the same size) "
            "choose one of 1, 2, 4, 8");
  EXPECT_EQ(problems_after("", {"grid.data=3"}),
            "command line: grid.data = 3: does not divide `batch.global = 8` (every rank has as many sequences) choose "
            "one of 1, 2, 4, 8");
  EXPECT_THAT(problems_after("", {"batch.global=5040", "grid.data=11"}),
              HasSubstr("choose one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, ..., 5040"));
}

TEST(BatchRules, WantLanesThatDivideMicroBatchesAndAreSharedByRanks) {
  EXPECT_THAT(problems_after("[numerics]\ndata_lanes = 8\n", {"batch.micro=2"}),
              HasSubstr("d.toml:14: `numerics.data_lanes` is `8` (it does not divide the 4 micro-batches"));
  EXPECT_THAT(problems_after("[numerics]\ndata_lanes = 6\n"), HasSubstr("so they are a power of two"));
  EXPECT_THAT(problems_after("[numerics]\ndata_lanes = 2\n", {"grid.data=4"}), HasSubstr("each of the 4 data ranks"));
  EXPECT_EQ(problems_after("[numerics]\ndata_lanes = 4\n", {"grid.data=4"}), "");
}

}  // namespace
}  // namespace trireme::config
