#include "trireme/comm/process_grid.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme::comm {
namespace {

/// A world of which only the hosts matter: rank r is on host hosts[r], and this process is rank 0.
class PretendedWorld : public Communicator {
 public:
  explicit PretendedWorld(std::vector<int> hosts) : hosts_(std::move(hosts)) {}
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return static_cast<int>(hosts_.size()); }
  void barrier() override {}
  void broadcast(void*, std::size_t, int) override {}
  void all_gather(const void*, std::size_t bytes, void* all) override;
  void all_reduce_sum(std::span<std::int64_t> values) override;
  void all_reduce_max(std::span<double>) override {}
  std::unique_ptr<Request> send(const void*, std::size_t, int, int) override { return nullptr; }
  std::unique_ptr<Request> receive(void*, std::size_t, int, int) override { return nullptr; }
  std::unique_ptr<Communicator> split(const ColorOf&) override { return make_self_communicator(); }
  std::unique_ptr<Communicator> split_by_host() override { return make_self_communicator(); }
  [[nodiscard]] bool all_arrive(double) override { return true; }
  [[noreturn]] void abort(int code) override { std::exit(code); }

 private:
  [[nodiscard]] std::int32_t leader(std::size_t rank) const {
    return static_cast<std::int32_t>(std::find(hosts_.begin(), hosts_.end(), hosts_[rank]) - hosts_.begin());
  }
  std::vector<int> hosts_;
};

void PretendedWorld::all_gather(const void*, std::size_t bytes, void* all) {
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
    if (bytes == sizeof(std::int64_t)) static_cast<std::int64_t*>(all)[rank] = 5;  // the lengths of the host names
    if (bytes == sizeof(std::int32_t)) static_cast<std::int32_t*>(all)[rank] = leader(rank);
    if (bytes != 5) continue;
    const std::string name = "node" + std::to_string(hosts_[rank]);
    std::copy(name.begin(), name.end(), static_cast<char*>(all) + rank * bytes);
  }
}

void PretendedWorld::all_reduce_sum(std::span<std::int64_t> values) {
  values[0] = 0;
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank) values[0] += leader(rank) == static_cast<int>(rank);
}

TEST(ProcessGrid, DescribesOneRank) {
  const auto self = make_self_communicator();
  const ProcessGrid grid(*self, GridShape{});
  EXPECT_THAT(grid.description(),
              testing::StartsWith("grid 1x1x1 (data x tensor x pipeline), 1 rank\n1 host with 1 rank "
                                  "each: "));
  EXPECT_EQ(grid.num_hosts(), 1);
  EXPECT_EQ(grid.coordinate(Axis::data), 0);
  EXPECT_EQ(grid.along(Axis::tensor).size(), 1);
}

TEST(ProcessGrid, DescribesHostsInOneLineWhateverTheNumberOfRanks) {
  std::vector<int> hosts;
  for (int host = 0; host < 9; ++host) hosts.insert(hosts.end(), 8, host);
  PretendedWorld world(hosts);
  const ProcessGrid grid(world, {{8, 9, 1}});
  EXPECT_EQ(grid.description(),
            "grid 9x8x1 (data x tensor x pipeline), 72 ranks\n"
            "9 hosts with 8 ranks each: node0, node1, node2, node3, ... node8");
}

TEST(ProcessGrid, NamesTheHostsWithFewestAndMostRanks) {
  PretendedWorld world({0, 0, 0, 1});
  const ProcessGrid grid(world, {{1, 4, 1}});
  EXPECT_THAT(grid.description(),
              testing::EndsWith("2 hosts with 1 (`node1`) to 3 (`node0`) ranks each: node0, node1"));
}

TEST(ProcessGrid, WarnsWhenATensorGroupLeavesItsHost) {
  PretendedWorld world({0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3});
  const ProcessGrid torn(world, {{2, 6, 1}});
  EXPECT_THAT(torn.description(), testing::HasSubstr("\nwarning: 2 of 6 tensor groups leave their host"));
  const ProcessGrid whole(world, {{3, 4, 1}});
  EXPECT_THAT(whole.description(), testing::Not(testing::HasSubstr("warning")));
}

}  // namespace
}  // namespace trireme::comm
