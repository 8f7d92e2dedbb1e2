#include "trireme/optim/data_axis.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"

namespace trireme::optim {

int resolve_group(const ShardingOptions& options, int data_size) {
  if (options.zero_stage == 0) return 1;
  if (options.group == 0) return data_size;
  if (options.group > 0 && data_size % options.group == 0) return options.group;
  std::vector<std::string> legal{"0 (all)"};
  for (int group = 1; group <= data_size; ++group) {
    if (data_size % group == 0) legal.push_back(std::to_string(group));
  }
  throw InputError(
      fmt::format("`sharding.group` is `{}` (it does not divide the {} data rank{} of `grid.data`) use one of {}",
                  options.group, data_size, data_size == 1 ? "" : "s", join(legal)));
}

DataAxis::DataAxis(comm::Communicator& data_axis, int group) : whole_(data_axis) {
  const int size = group == 0 ? data_axis.size() : group;
  TRIREME_EXPECT(size > 0 && data_axis.size() % size == 0);
  inside_ = data_axis.split([size](int rank) { return rank / size; });
  across_ = data_axis.split([size](int rank) { return rank % size; });
}

}  // namespace trireme::optim
