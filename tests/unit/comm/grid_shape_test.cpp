#include "trireme/comm/grid_shape.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

namespace trireme::comm {
namespace {

using testing::HasSubstr;

GridShape shape(int data, int tensor, int pipeline) {
  return {{tensor, data, pipeline}};
}

std::string refusal(const GridOptions& options, int num_ranks) {
  try {
    const GridShape fitted = fit_grid(options, num_ranks);
    return "accepted as " + fitted.text();
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(GridShape, PutsTensorNeighboursNextToEachOtherAndStagesFarApart) {
  const GridShape grid = shape(2, 3, 4);
  EXPECT_EQ(grid.size(), 24);
  EXPECT_EQ(grid.coordinates_of(0), shape(0, 0, 0));
  EXPECT_EQ(grid.coordinates_of(1), shape(0, 1, 0));
  EXPECT_EQ(grid.coordinates_of(3), shape(1, 0, 0));
  EXPECT_EQ(grid.coordinates_of(6), shape(0, 0, 1));
  EXPECT_EQ(grid.coordinates_of(23), shape(1, 2, 3));
}

TEST(GridShape, CountsRanksThereAndBack) {
  const GridShape grid = shape(5, 2, 3);
  for (int rank = 0; rank < grid.size(); ++rank) EXPECT_EQ(grid.rank_of(grid.coordinates_of(rank)), rank);
}

TEST(GridShape, ReadsDataTimesTensorTimesPipeline) {
  EXPECT_EQ(shape(2, 1, 4).text(), "2x1x4");
}

TEST(FitGrid, FillsTheOneAxisThatIsZero) {
  EXPECT_EQ(fit_grid({}, 7), shape(7, 1, 1));
  EXPECT_EQ(fit_grid({0, 2, 2}, 8), shape(2, 2, 2));
  EXPECT_EQ(fit_grid({2, 0, 2}, 12), shape(2, 3, 2));
  EXPECT_EQ(fit_grid({1, 1, 0}, 5), shape(1, 1, 5));
}

TEST(FitGrid, TakesAGridThatFits) {
  EXPECT_EQ(fit_grid({2, 2, 2}, 8), shape(2, 2, 2));
}

TEST(FitGrid, NamesProductRanksAndChoicesWhenTheProductDiffers) {
  EXPECT_EQ(refusal({2, 2, 2}, 6),
            "grid `2x2x2` (data x tensor x pipeline) has 8 places but there are 6 ranks (every rank has exactly one "
            "place) start 8 ranks, or choose one of `3x1x2`, `2x1x3`, `3x2x1`, `1x2x3`, `2x3x1`, `1x3x2`, ...");
  EXPECT_THAT(
      refusal({2, 2, 2}, 1),
      HasSubstr(
          "8 places but there is 1 rank (every rank has exactly one place) start 8 ranks, or choose one of `1x1x1`"));
  for (int ranks : {1, 6, 7, 16}) EXPECT_THAT(refusal({2, 2, 2}, ranks), HasSubstr("has 8 places"));
}

TEST(FitGrid, OffersOnlyGridsOfTheRightSize) {
  // 16 = 2x2x4 agrees with the wish in two axes: it comes first.
  EXPECT_THAT(refusal({2, 2, 2}, 16), HasSubstr("choose one of `4x2x2`, `2x2x4`"));
}

TEST(FitGrid, SaysWhyAnAxisCannotBeFilled) {
  EXPECT_EQ(refusal({0, 2, 2}, 6),
            "`grid.data` cannot be filled: the other axes of grid `0x2x2` (data x tensor x pipeline) have 4 places, "
            "which does not divide the number of ranks, 6 (every rank has exactly one place) start a multiple of 4 "
            "ranks, or choose one of `3x1x2`, `3x2x1`, `1x2x3`, `1x3x2`, `6x1x1`, `2x1x3`, ...");
  EXPECT_THAT(refusal({0, 3, 1}, 2), HasSubstr("have 3 places, which does not divide the number of ranks, 2"));
}

TEST(FitGrid, RefusesTwoZerosAndNegativeSizes) {
  EXPECT_EQ(refusal({0, 0, 1}, 4),
            "`grid.tensor` and `grid.data` are 0 (only one axis can be filled with the ranks that are left) set all "
            "but one of them");
  EXPECT_EQ(
      refusal({1, 1, -2}, 4),
      "`grid.pipeline` is `-2` (an axis has at least one rank) use a positive number, or 0 on one axis to fill it "
      "with the ranks that are left");
}

TEST(Check, RefusesWhatNoNumberOfRanksCanFill) {
  EXPECT_NO_THROW(check({0, 2, 3}));
  EXPECT_NO_THROW(check({2, 2, 0}));
  EXPECT_THROW(check({0, 2, 0}), InputError);
  EXPECT_THROW(check({0, 0, 0}), InputError);
  EXPECT_THROW(check({1, -1, 1}), InputError);
}

TEST(FitGrid, DoesNotOverflowOnMistypedSizes) {
  const int huge = 2147483647;
  EXPECT_THAT(refusal({huge, huge, huge}, 8), HasSubstr("there are 8 ranks"));
  EXPECT_THAT(refusal({65536, 65536, 1}, 1), HasSubstr("has 4294967296 places"));
  EXPECT_THAT(refusal({0, 65536, 65536}, 8), HasSubstr("cannot be filled"));
}

}  // namespace
}  // namespace trireme::comm
