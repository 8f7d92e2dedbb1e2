#include "trireme/comm/process_grid.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/host.hpp"
#include "trireme/base/text.hpp"
#include "trireme/comm/hosts.hpp"

namespace trireme::comm {
namespace {

/// The colour of a rank in the split that makes the groups along `axis`: its place with the axis taken out.
int group_of(const GridShape& shape, int rank, Axis axis) {
  GridShape coordinates = shape.coordinates_of(rank);
  coordinates[axis] = 0;
  return shape.rank_of(coordinates);
}

}  // namespace

ProcessGrid::ProcessGrid(Communicator& world, const GridShape& shape)
    : world_(world), shape_(shape), coordinates_(shape.coordinates_of(world.rank())) {
  make_axes();
  hosts_ = world.all_gather_text(host_name());
  host_leaders_ = host_leaders(world);
  std::vector<std::int32_t> leaders = host_leaders_;
  std::sort(leaders.begin(), leaders.end());
  num_hosts_ = static_cast<int>(std::unique(leaders.begin(), leaders.end()) - leaders.begin());
}

ProcessGrid::ProcessGrid(Communicator& planned_world, const GridShape& shape, Planned /*tag*/)
    : world_(planned_world), shape_(shape), coordinates_(shape.coordinates_of(planned_world.rank())) {
  make_axes();
  hosts_.assign(static_cast<std::size_t>(shape.size()), "planned");
  host_leaders_.assign(hosts_.size(), 0);
}

void ProcessGrid::make_axes() {
  TRIREME_EXPECT(shape_.size() == world_.size());
  for (const Axis axis : {Axis::tensor, Axis::data, Axis::pipeline}) {
    axes_.push_back(world_.split([this, axis](int rank) { return group_of(shape_, rank, axis); }));
  }
}

Communicator& ProcessGrid::along(Axis axis) const {
  return *axes_[static_cast<std::size_t>(axis)];
}

std::string ProcessGrid::description() const {
  std::string text = fmt::format("grid {} (data x tensor x pipeline), {} rank{}\n{}", shape_.text(), shape_.size(),
                                 shape_.size() == 1 ? "" : "s", hosts_line());
  const int num_groups = shape_.size() / shape_[Axis::tensor];
  const int torn = num_torn_tensor_groups();
  if (torn > 0) {
    text += fmt::format(
        "\nwarning: {} of {} tensor groups leave their host (their exchange is the heaviest, and the network is slower "
        "than shared memory) make `grid.tensor` a divisor of the ranks per host",
        torn, num_groups);
  }
  return text;
}

std::string ProcessGrid::hosts_line() const {
  std::vector<std::pair<int, int>> hosts;  // ranks, leader; in the order of leaders
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
    if (host_leaders_[rank] != static_cast<std::int32_t>(rank)) continue;
    const auto ranks = std::count(host_leaders_.begin(), host_leaders_.end(), host_leaders_[rank]);
    hosts.emplace_back(static_cast<int>(ranks), static_cast<int>(rank));
  }
  const auto name = [&](const std::pair<int, int>& host) { return hosts_[static_cast<std::size_t>(host.second)]; };
  constexpr std::size_t shown = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(shown, hosts.size()); ++i) names.push_back(name(hosts[i]));
  if (hosts.size() > shown) names.push_back("... " + name(hosts.back()));

  const auto [fewest, most] = std::minmax_element(hosts.begin(), hosts.end());
  std::string counts = fmt::format("{} rank{} each", most->first, most->first == 1 ? "" : "s");
  if (fewest->first != most->first) {
    counts = fmt::format("{} (`{}`) to {} (`{}`) ranks each", fewest->first, name(*fewest), most->first, name(*most));
  }
  return fmt::format("{} host{} with {}: {}", num_hosts_, num_hosts_ == 1 ? "" : "s", counts, join(names));
}

int ProcessGrid::num_torn_tensor_groups() const {
  const auto extent = static_cast<std::size_t>(shape_[Axis::tensor]);
  int torn = 0;
  // Tensor is the fastest axis, so its groups are contiguous.
  for (std::size_t first = 0; first < host_leaders_.size(); first += extent) {
    const auto begin = host_leaders_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(extent);
    if (std::any_of(begin, end, [&](std::int32_t leader) { return leader != *begin; })) ++torn;
  }
  return torn;
}

}  // namespace trireme::comm
