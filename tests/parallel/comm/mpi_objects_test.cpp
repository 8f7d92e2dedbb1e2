// Memory that grows with the steps through MPI objects never freed is seen here before it is seen in a long run.
#include <vector>

#include <gtest/gtest.h>

#include "trireme/comm/process_grid.hpp"
#include "trireme/comm/tree.hpp"

#include "parallel/parallel.hpp"
#include "parallel/pmpi_shim.hpp"

namespace trireme::comm {
namespace {

using testing::world;

TEST(MpiObjects, StayAsManyOverManySteps) {
  const device::Device device({});
  const int communicators = testing::live_communicators();
  for (std::int64_t elements : {100, 5000}) {  // messages below and above 4 KiB
    Cuts cuts;
    for (int piece = 0; piece <= world().size(); ++piece) cuts.push_back(elements * piece);
    TreeReduceScatter reduce(world(), device, cuts, 1);
    PieceAllGather gather(world(), cuts, 2);
    std::vector<float> data(static_cast<std::size_t>(cuts.back()));
    std::vector<float> scratch(static_cast<std::size_t>(reduce.scratch_elements()));
    for (int step = 0; step < 200; ++step) {
      reduce.start(data.data(), scratch.data());
      reduce.finish();
      gather.start(data.data());
      gather.finish();
      ASSERT_EQ(testing::live_requests(), 0);
    }
  }
  EXPECT_EQ(testing::live_communicators(), communicators);
}

TEST(MpiObjects, AreFreedWithTheGrid) {
  const int communicators = testing::live_communicators();
  for (int repeat = 0; repeat < 20; ++repeat) {
    const ProcessGrid grid(world(), fit_grid({}, world().size()));
    EXPECT_EQ(testing::live_communicators(), communicators + num_axes);
  }
  EXPECT_EQ(testing::live_communicators(), communicators);
}

}  // namespace
}  // namespace trireme::comm
