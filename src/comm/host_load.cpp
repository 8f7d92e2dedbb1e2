#include "trireme/comm/host_load.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "trireme/device/device.hpp"

namespace trireme::comm {
namespace {

std::vector<device::CoreSet> cores_of_ranks(Communicator& host) {
  static_assert(std::is_trivially_copyable_v<device::CoreSet>);
  const device::CoreSet mine = device::own_cores();
  std::vector<device::CoreSet> cores(static_cast<std::size_t>(host.size()));
  host.all_gather(&mine, sizeof(mine), cores.data());
  return cores;
}

}  // namespace

int default_num_threads(Communicator& host) {
  const std::vector<device::CoreSet> cores = cores_of_ranks(host);
  return device::default_num_threads(cores[static_cast<std::size_t>(host.rank())], cores);
}

HostLoad host_load(Communicator& host, int num_threads) {
  device::CoreSet together;
  for (const device::CoreSet& cores : cores_of_ranks(host)) together |= cores;
  return {.ranks = host.size(),
          .threads = static_cast<int>(host.all_reduce_sum(std::int64_t{num_threads})),
          .cores = static_cast<int>(together.count())};
}

HostLoad heaviest_load(Communicator& world, const HostLoad& mine) {
  std::vector<HostLoad> loads(static_cast<std::size_t>(world.size()));
  world.all_gather(&mine, sizeof(mine), loads.data());
  return *std::max_element(loads.begin(), loads.end(), [](const HostLoad& a, const HostLoad& b) {
    return std::int64_t{a.threads} * b.cores < std::int64_t{b.threads} * a.cores;
  });
}

}  // namespace trireme::comm
