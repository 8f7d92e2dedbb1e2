#include "trireme/comm/hosts.hpp"

#include <memory>

namespace trireme::comm {

std::vector<std::int32_t> host_leaders(Communicator& communicator) {
  std::int32_t leader = communicator.rank();
  communicator.split_by_host()->broadcast(&leader, sizeof(leader), 0);
  std::vector<std::int32_t> leaders(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(&leader, sizeof(leader), leaders.data());
  return leaders;
}

}  // namespace trireme::comm
