#include "trireme/comm/host_load.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "trireme/device/device.hpp"

#include "parallel/parallel.hpp"

namespace trireme::comm {
namespace {

using testing::world;

/// This process on one of its cores, while the object lives.
class OnOneCore {
 public:
  explicit OnOneCore(int number) {
    sched_getaffinity(0, sizeof before_, &before_);
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &before_)) cores.push_back(core);
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cores[static_cast<std::size_t>(number) % cores.size()], &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OnOneCore() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

TEST(HostLoad, CountsThreadsOfAllRanksAndEachCoreOnce) {
  const HostLoad load = host_load(world(), world().rank() + 1);
  EXPECT_EQ(load.ranks, world().size());
  EXPECT_EQ(load.threads, world().size() * (world().size() + 1) / 2);
  EXPECT_EQ(load.cores, device::available_cores());
}

TEST(HostLoad, AddsTheCoresOfRanksThatAreBoundToTheirOwn) {
  const int cores = device::available_cores();
  const OnOneCore bound(world().rank());
  EXPECT_EQ(host_load(world(), 1).cores, std::min(cores, world().size()));
}

TEST(HostLoad, HeaviestHasTheMostThreadsACore) {
  const HostLoad light{.ranks = 1, .threads = 8, .cores = 8};
  const HostLoad heavy{.ranks = 2, .threads = 3, .cores = 2};
  const HostLoad heaviest = heaviest_load(world(), world().rank() == world().size() - 1 ? heavy : light);
  EXPECT_EQ(heaviest.threads, 3);
  EXPECT_EQ(heaviest.cores, 2);
  EXPECT_EQ(heaviest.ranks, 2);
}

}  // namespace
}  // namespace trireme::comm
