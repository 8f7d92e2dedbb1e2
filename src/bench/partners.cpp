#include "bench/partners.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace trireme::bench {

namespace {

/// The ranks of each host, ascending.
std::vector<std::vector<int>> ranks_of_hosts(const std::vector<int>& hosts) {
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(num_hosts(hosts)));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    ranks[static_cast<std::size_t>(hosts[rank])].push_back(static_cast<int>(rank));
  }
  return ranks;
}

void join(Partners& partners, int a, int b) {
  partners[static_cast<std::size_t>(a)] = b;
  partners[static_cast<std::size_t>(b)] = a;
}

}  // namespace

std::vector<int> host_numbers(comm::Communicator& world) {
  const auto on_host = world.split_by_host();
  std::int32_t leader = world.rank();
  on_host->broadcast(&leader, sizeof leader, 0);
  std::vector<std::int32_t> leaders(static_cast<std::size_t>(world.size()));
  world.all_gather(&leader, sizeof leader, leaders.data());
  std::map<std::int32_t, int> numbers;
  std::vector<int> hosts;
  for (const std::int32_t each : leaders) {
    hosts.push_back(numbers.try_emplace(each, static_cast<int>(numbers.size())).first->second);
  }
  return hosts;
}

int num_hosts(const std::vector<int>& hosts) {
  return *std::max_element(hosts.begin(), hosts.end()) + 1;
}

int ranks_per_host(const std::vector<int>& hosts) {
  std::size_t most = 0;
  for (const auto& ranks : ranks_of_hosts(hosts)) most = std::max(most, ranks.size());
  return static_cast<int>(most);
}

Partners partners_inside(const std::vector<int>& hosts) {
  Partners partners(hosts.size(), -1);
  for (const auto& ranks : ranks_of_hosts(hosts)) {
    for (std::size_t i = 0; i + 1 < ranks.size(); i += 2) join(partners, ranks[i], ranks[i + 1]);
  }
  return partners;
}

Partners partners_between(const std::vector<int>& hosts) {
  Partners partners(hosts.size(), -1);
  const auto ranks = ranks_of_hosts(hosts);
  for (std::size_t host = 0; host + 1 < ranks.size(); host += 2) {
    const std::size_t pairs = std::min(ranks[host].size(), ranks[host + 1].size());
    for (std::size_t i = 0; i < pairs; ++i) join(partners, ranks[host][i], ranks[host + 1][i]);
  }
  return partners;
}

}  // namespace trireme::bench
