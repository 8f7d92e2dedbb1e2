// A deck on the grid that the ranks make.
#include "trireme/config/fit.hpp"

#include <gmock/gmock.h>

#include "unit/config/decks.hpp"

namespace trireme::config {
namespace {

using testing::HasSubstr;

/// What check_grid() says of the smallest deck with these options on a grid.
std::string problems_on(int data, int tensor, int pipeline, const std::vector<std::string>& overrides = {}) {
  try {
    check_grid(deck_of("", overrides), {{tensor, data, pipeline}});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::int64_t micro_of(std::int64_t global, int data_size, const std::vector<std::string>& further = {}) {
  std::vector<std::string> overrides = further;
  overrides.push_back("batch.global=" + std::to_string(global));
  return resolve_micro(deck_of("", overrides), data_size);
}

TEST(ResolveMicro, IsTheSameOnEveryDataSizeThatSharesIt) {
  for (const int data : {1, 2, 4, 8}) {
    EXPECT_EQ(micro_of(8, data), 1);
    EXPECT_EQ(micro_of(16, data), 2);
    EXPECT_EQ(micro_of(24, data), 3);
    EXPECT_EQ(micro_of(64, data), 8);
    EXPECT_EQ(micro_of(512, data), 8);
  }
  EXPECT_EQ(micro_of(37, 1), 1);
}

TEST(ResolveMicro, IsSmallerWhereTheRanksCannotShareIt) {
  EXPECT_EQ(micro_of(24, 3), 2);
  EXPECT_EQ(micro_of(24, 6), 2);
  EXPECT_EQ(micro_of(24, 12), 2);
  EXPECT_EQ(micro_of(24, 24), 1);
  EXPECT_EQ(micro_of(64, 16), 4);
  EXPECT_EQ(micro_of(37, 37), 1);
}

TEST(ResolveMicro, IsLegalWheneverTheBatchIsAMultipleOfTheRanksAndNeverLargerThanOnOneRank) {
  for (std::int64_t global = 1; global <= 100; ++global) {
    for (int data = 1; data <= global; ++data) {
      if (global % data != 0) continue;
      const std::int64_t micro = micro_of(global, data);
      EXPECT_EQ(global % (micro * data), 0) << global << " on " << data;
      EXPECT_LE(micro, micro_of(global, 1)) << global << " on " << data;
    }
  }
}

TEST(ResolveMicro, LeavesLanesEnoughMicroBatches) {
  EXPECT_EQ(micro_of(64, 1, {"numerics.data_lanes=32"}), 2);
  EXPECT_EQ(micro_of(48, 3, {"numerics.data_lanes=0"}), 4);
}

TEST(ResolveMicro, KeepsAGivenSize) {
  EXPECT_EQ(micro_of(24, 3, {"batch.micro=4"}), 4);
}

TEST(ParseDeck, ChoosesMicroBatchesWhereTheDataAxisIsGiven) {
  EXPECT_EQ(deck_of("", {"batch.global=24"}).batch.micro, 0);
  EXPECT_EQ(deck_of("", {"batch.global=24", "grid.data=3"}).batch.micro, 2);
  EXPECT_EQ(deck_of("", {"batch.global=24", "grid.data=2"}).batch.micro, 3);
}

TEST(CheckGrid, AcceptsWhatFits) {
  EXPECT_EQ(problems_on(2, 2, 2), "");
  EXPECT_EQ(problems_on(8, 4, 2, {"sharding.group=4"}), "");
  EXPECT_EQ(problems_on(3, 1, 1, {"batch.global=24"}), "");
}

TEST(CheckGrid, TellsAllProblemsInOneMessage) {
  const std::string problems = problems_on(3, 1, 4, {"grid.pipeline=2", "sharding.group=2", "numerics.data_lanes=2"});
  EXPECT_EQ(
      problems,
      "grid 3x1x4: grid.data = 3: does not divide `batch.global = 8` (every rank has as many sequences) choose one "
      "of 1, 2, 4, 8\n"
      "grid 3x1x4: `sharding.group` is `2` (it does not divide the 3 data ranks of `grid.data`) use one of 0 "
      "(all), 1, 3\n"
      "grid 3x1x4: `model.layers` is `2` (`grid.pipeline` of 4 and `pipeline.chunks` of 1 make 4 parts, and each "
      "needs a block unless `pipeline.layers_per_stage` says otherwise) use `grid.pipeline` of at most 2 or at "
      "least 4 layers");
}

TEST(CheckGrid, TellsWhatTheDeckAloneCouldNot) {
  EXPECT_THAT(problems_on(1, 3, 1, {"grid.data=1", "grid.tensor=0"}), HasSubstr("`grid.tensor` is `3`"));
  EXPECT_THAT(problems_on(4, 1, 1, {"numerics.data_lanes=2"}), HasSubstr("each of the 4 data ranks"));
  EXPECT_THAT(problems_on(1, 4, 1, {"grid.data=1", "grid.tensor=0", "numerics.tensor_slices=2"}),
              HasSubstr("not a multiple of the tensor axis"));
  EXPECT_THAT(problems_on(1, 1, 2, {"grid.data=1", "grid.pipeline=0", "pipeline.layers_per_stage=[0, 2, 0]"}),
              HasSubstr("has 3 numbers"));
}

}  // namespace
}  // namespace trireme::config
