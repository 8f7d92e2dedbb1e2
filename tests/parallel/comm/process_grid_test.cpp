#include "trireme/comm/process_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/comm/grid_shape.hpp"

#include "parallel/parallel.hpp"

namespace trireme::comm {
namespace {

using testing::world;

TEST(ProcessGrid, PlacesEveryRankOnEveryShapeOfThisSize) {
  const int ranks = world().size();
  for (int tensor = 1; tensor <= ranks; ++tensor) {
    for (int data = 1; data <= ranks / tensor; ++data) {
      if (ranks % (tensor * data) != 0) continue;
      const GridShape shape{{tensor, data, ranks / tensor / data}};
      const ProcessGrid grid(world(), shape);
      for (Axis axis : {Axis::tensor, Axis::data, Axis::pipeline}) {
        Communicator& along = grid.along(axis);
        EXPECT_EQ(along.size(), shape[axis]);
        EXPECT_EQ(along.rank(), grid.coordinate(axis));
        // Who is in the group: coordinates of all but the last member's differ from mine along this axis only.
        GridShape last = shape.coordinates_of(world().rank());
        last[axis] = shape[axis] - 1;
        EXPECT_EQ(along.all_reduce_max(world().rank()), shape.rank_of(last));
      }
    }
  }
}

TEST(ProcessGrid, SaysTheSameOnEveryRank) {
  const ProcessGrid grid(world(), fit_grid({}, world().size()));
  EXPECT_EQ(grid.num_hosts(), 1);
  EXPECT_THAT(world().all_gather_text(grid.description()), ::testing::Each(grid.description()));
}

}  // namespace
}  // namespace trireme::comm
