#include "bench/report.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trireme/kernels/gemm.hpp"

namespace trireme::bench {

namespace {

constexpr double giga = 1e9;
constexpr double percent = 100;

std::string rate_text(const Row& row, const Machine& machine) {
  const bool by_flop = row.flop / machine.gemm_flop_per_s >= row.bytes / machine.triad_bytes_per_s;
  return fmt::format("{:.1f} {:<7}", (by_flop ? row.flop : row.bytes) / row.timing.median_s / giga,
                     by_flop ? "GFLOP/s" : "GB/s");
}

std::string head_text(const device::Device& device, const Machine& machine) {
  return fmt::format(
      "{}, {}\n"
      "GEMM ceiling {:8.1f} GFLOP/s (spread {:.1f} %)\n"
      "memory triad {:8.1f} GB/s    (spread {:.1f} %)\n\n",
      device.description(), kernels::gemm_library_version(), machine.gemm_flop_per_s / giga,
      machine.gemm_spread * percent, machine.triad_bytes_per_s / giga, machine.triad_spread * percent);
}

}  // namespace

std::string table_text(const device::Device& device, const Machine& machine, const std::vector<Row>& rows) {
  std::string text = head_text(device, machine);
  text += fmt::format("{:<24} {:<24} {:>9} {:>10} {:>8} {:>15} {:>9}\n", "kernel", "shape", "best ms", "median ms",
                      "spread", "rate", "of floor");
  for (const Row& row : rows) {
    text += fmt::format("{:<24} {:<24} {:>9.3f} {:>10.3f} {:>6.1f} % {:>15} {:>7.1f} %\n", row.kernel, row.shape,
                        row.timing.best_s * 1e3, row.timing.median_s * 1e3, row.timing.spread * percent,
                        rate_text(row, machine), floor_s(row, machine) / row.timing.median_s * percent);
  }
  return text;
}

std::string json_text(const device::Device& device, const Machine& machine, const std::vector<Row>& rows) {
  nlohmann::ordered_json json = {
      {"device", device.description()},       {"library", kernels::gemm_library_version()},
      {"threads", device.num_threads()},      {"gemm_flop_per_s", machine.gemm_flop_per_s},
      {"gemm_spread", machine.gemm_spread},   {"triad_bytes_per_s", machine.triad_bytes_per_s},
      {"triad_spread", machine.triad_spread}, {"kernels", nlohmann::ordered_json::array()}};
  for (const Row& row : rows) {
    json["kernels"].push_back({{"kernel", row.kernel},
                               {"shape", row.shape},
                               {"flop", row.flop},
                               {"bytes", row.bytes},
                               {"median_s", row.timing.median_s},
                               {"best_s", row.timing.best_s},
                               {"spread", row.timing.spread},
                               {"repeats", row.timing.repeats},
                               {"share_of_floor", floor_s(row, machine) / row.timing.median_s}});
  }
  return json.dump(2) + "\n";
}

void measure_and_print(const device::Device& device, std::vector<Row> rows, double budget_s, bool json) {
  measure_in_turns(rows, budget_s);
  const Machine machine = take_machine(rows);
  const std::string text = json ? json_text(device, machine, rows) : table_text(device, machine, rows);
  std::fputs(text.c_str(), stdout);
}

}  // namespace trireme::bench
