#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trireme/base/host.hpp"
#include "trireme/kernels/gemm.hpp"

#include "bench/link.hpp"
#include "bench/machine.hpp"
#include "bench/messages.hpp"
#include "bench/partners.hpp"
#include "bench/placed.hpp"
#include "bench/subjects.hpp"
#include "bench/together.hpp"

namespace trireme::bench {

namespace {

constexpr double budget_s = 1;
constexpr double giga = 1e9;
constexpr double micro = 1e-6;

struct Rates {
  std::vector<int> hosts;
  OverRanks gemm, gemm_bf16, gemm_fp16, triad;
  std::optional<Link> inside, outside;
};

OverRanks rate_of(comm::Communicator& world, const Row& row, double amount) {
  return gather(world, row.kernel, amount, time_together(world, budget_s, row.work));
}

OverRanks gemm_rate(comm::Communicator& world, const device::Device& device, Dtype dtype) {
  Placed<SquareProduct> product(device, dtype);
  const Row row = product->row();
  return rate_of(world, row, row.flop);
}

Rates measure(comm::Communicator& world, const device::Device& device) {
  Rates rates{.hosts = host_numbers(world)};
  {
    Placed<Probes> probes(device);
    std::vector<Row> rows;
    probes->append_rows(rows);
    rates.gemm = rate_of(world, rows[0], rows[0].flop);
    rates.triad = rate_of(world, rows[1], rows[1].bytes);
  }
  rates.gemm_bf16 = gemm_rate(world, device, Dtype::bf16);
  rates.gemm_fp16 = gemm_rate(world, device, Dtype::f16);
  rates.inside = link_of(measure_messages(world, partners_inside(rates.hosts), ""));
  rates.outside = link_of(measure_messages(world, partners_between(rates.hosts), ""));
  return rates;
}

nlohmann::ordered_json json_of(const Link& link) {
  return {{"latency_s", link.latency_s}, {"bytes_per_s", link.bytes_per_s}};
}

std::string json_text(const device::Device& device, const Rates& rates) {
  nlohmann::ordered_json json = {{"device", device.description()},
                                 {"library", kernels::gemm_library_version()},
                                 {"ranks", rates.hosts.size()},
                                 {"hosts", num_hosts(rates.hosts)},
                                 {"ranks_per_host", ranks_per_host(rates.hosts)},
                                 {"gemm_flop_per_s", rates.gemm.rate()},
                                 {"gemm_bf16_flop_per_s", rates.gemm_bf16.rate()},
                                 {"gemm_fp16_flop_per_s", rates.gemm_fp16.rate()},
                                 {"triad_bytes_per_s", rates.triad.rate()}};
  if (rates.inside) json["inside"] = json_of(*rates.inside);
  if (rates.outside) json["outside"] = json_of(*rates.outside);
  return json.dump(2) + "\n";
}

std::string line_of(const OverRanks& of, const char* name, const char* unit,
                    const std::vector<std::string>& host_names) {
  return fmt::format("{:<14} {:>8.1f} {:<8} (ranks {:.1f} to {:.1f}; slowest rank {}, {})\n", name, of.rate() / giga,
                     unit, of.amount / of.max_s / giga, of.amount / of.min_s / giga, of.slowest_rank,
                     host_names[static_cast<std::size_t>(of.slowest_rank)]);
}

std::string line_of(const std::optional<Link>& link, const char* name, const char* without) {
  if (!link) return fmt::format("{:<14} not measured: {}\n", name, without);
  return fmt::format("{:<14} {:>8.2f} GB/s     latency {:.2f} us\n", name, link->bytes_per_s / giga,
                     link->latency_s / micro);
}

std::string table_text(const device::Device& device, const Rates& rates, const std::vector<std::string>& host_names) {
  return fmt::format("{}; a rank: {}, {}\nrates of a rank while all work:\n\n", job_text(rates.hosts),
                     device.description(), kernels::gemm_library_version()) +
         line_of(rates.gemm, "GEMM, fp32", "GFLOP/s", host_names) +
         line_of(rates.gemm_bf16, "GEMM, bf16", "GFLOP/s", host_names) +
         line_of(rates.gemm_fp16, "GEMM, fp16", "GFLOP/s", host_names) +
         line_of(rates.triad, "memory triad", "GB/s", host_names) +
         line_of(rates.inside, "inside a host", "no host has two ranks") +
         line_of(rates.outside, "between hosts", "there is one host");
}

}  // namespace

void run_rates(comm::Communicator& world, const device::Device& device, bool json) {
  const Rates rates = measure(world, device);
  const std::vector<std::string> host_names = world.gather_text(host_name(), 0);
  if (world.rank() != 0) return;
  fmt::print("{}", json ? json_text(device, rates) : table_text(device, rates, host_names));
}

}  // namespace trireme::bench
