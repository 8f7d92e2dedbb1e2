#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trireme/base/host.hpp"
#include "trireme/comm/tree.hpp"

#include "bench/messages.hpp"
#include "bench/operands.hpp"
#include "bench/partners.hpp"
#include "bench/placed.hpp"
#include "bench/subjects.hpp"
#include "bench/together.hpp"

namespace trireme::bench {

namespace {

constexpr double budget_s = 0.5;  // of one collective at one size
constexpr std::int64_t elements_per_mib = (std::int64_t{1} << 20U) / std::int64_t{sizeof(float)};
constexpr std::int64_t sizes_mib[] = {1, 16, 64};
constexpr int tag = 2;

comm::Cuts even_cuts(std::int64_t elements, int pieces) {
  comm::Cuts cuts;
  for (int piece = 0; piece <= pieces; ++piece) cuts.push_back(elements * piece / pieces);
  return cuts;
}

/// An array on every rank, and the two collectives over it.
struct Collectives {
  Collectives(comm::Communicator& among, const device::Device& device, std::int64_t mib, device::Arena& arena)
      : world(among),
        cuts(even_cuts(mib * elements_per_mib, among.size())),
        reduce_scatter(among, device, cuts, tag),
        all_gather(among, cuts, tag + 1),
        array(random_tensor(arena, {cuts.back()})),
        scratch(random_tensor(arena, {reduce_scatter.scratch_elements()})) {}

  void append_lines(std::vector<OverRanks>& lines) {
    const double others = static_cast<double>(world.size() - 1) / world.size();
    const double sent_bytes = others * static_cast<double>(array.bytes());
    // Sums of sums soon overflow, which changes neither the bytes nor the time of an addition.
    const Timing reduced = time_together(world, budget_s, [this] {
      reduce_scatter.start(array.as<float>(), scratch.as<float>());
      reduce_scatter.finish();
    });
    lines.push_back(gather(world, "tree reduce-scatter", sent_bytes, reduced));
    const Timing gathered = time_together(world, budget_s, [this] {
      all_gather.start(array.data);
      all_gather.finish();
    });
    lines.push_back(gather(world, "piece all-gather", sent_bytes, gathered));
  }

  comm::Communicator& world;
  comm::Cuts cuts;
  comm::TreeReduceScatter reduce_scatter;
  comm::PieceAllGather all_gather;
  tensor::Tensor array, scratch;
};

std::vector<OverRanks> measure_collectives(comm::Communicator& world, const device::Device& device) {
  std::vector<OverRanks> lines;
  if (world.size() == 1) return lines;
  for (const std::int64_t mib : sizes_mib) Placed<Collectives>(world, device, mib)->append_lines(lines);
  return lines;
}

}  // namespace

void run_comm(comm::Communicator& world, const device::Device& device, bool json) {
  const std::vector<int> hosts = host_numbers(world);
  const auto inside = measure_messages(world, partners_inside(hosts), "message inside a host");
  const auto between = measure_messages(world, partners_between(hosts), "message between hosts");
  const auto collectives = measure_collectives(world, device);
  const std::vector<std::string> host_names = world.gather_text(host_name(), 0);
  if (world.rank() != 0) return;

  std::vector<OverRanks> messages = inside;
  messages.insert(messages.end(), between.begin(), between.end());
  if (json) {
    const nlohmann::ordered_json object = {{"ranks", world.size()},
                                           {"hosts", num_hosts(hosts)},
                                           {"messages", json_of_bytes(messages)},
                                           {"collectives", json_of_bytes(collectives)}};
    fmt::print("{}\n", object.dump(2));
  } else if (world.size() == 1) {
    fmt::print("one rank sends no messages: start `trireme bench comm` under mpirun or srun\n");
  } else {
    fmt::print("{}\n\n{}\n{}", job_text(hosts), table_of_bytes(messages, host_names),
               table_of_bytes(collectives, host_names));
  }
}

}  // namespace trireme::bench
