#include "bench/report.hpp"

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

/// Of a product in half precision, beside that in fp32.
std::string half_text(const Row& row, const Row& fp32) {
  return fmt::format("  {:>4} {:>7.1f} {:>6.1f} % {:>5.2f} x", name_of(row.dtype),
                     row.flop / row.timing.median_s / giga, row.timing.spread * percent,
                     fp32.timing.median_s / row.timing.median_s);
}

}  // namespace

std::string head_text(const device::Device& device, const Machine& machine) {
  return fmt::format(
      "{}, {}\n"
      "GEMM ceiling {:8.1f} GFLOP/s (spread {:.1f} %)\n"
      "memory triad {:8.1f} GB/s    (spread {:.1f} %)\n\n",
      device.description(), kernels::gemm_library_version(), machine.gemm_flop_per_s / giga,
      machine.gemm_spread * percent, machine.triad_bytes_per_s / giga, machine.triad_spread * percent);
}

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

std::string gemm_table_text(const device::Device& device, const Machine& machine, const std::vector<Row>& rows) {
  std::string text = head_text(device, machine);
  text += "GFLOP/s, spread; fp32: of the floor; half precision: times as fast as fp32\n";
  for (const Row& fp32 : rows) {
    if (fp32.dtype != Dtype::f32) continue;
    text += fmt::format("{:<20} {:<20} fp32 {:>7.1f} {:>6.1f} % {:>6.1f} %", fp32.kernel, fp32.shape,
                        fp32.flop / fp32.timing.median_s / giga, fp32.timing.spread * percent,
                        floor_s(fp32, machine) / fp32.timing.median_s * percent);
    for (const Row& half : rows) {
      const bool same = half.kernel == fp32.kernel && half.shape == fp32.shape;
      if (same && half.dtype != Dtype::f32) text += half_text(half, fp32);
    }
    text += "\n";
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
                               {"type", name_of(row.dtype)},
                               {"flop", row.flop},
                               {"bytes", row.bytes},
                               {"median_s", row.timing.median_s},
                               {"best_s", row.timing.best_s},
                               {"spread", row.timing.spread},
                               {"repeats", row.timing.repeats}});
    if (row.dtype == Dtype::f32) {
      json["kernels"].back()["share_of_floor"] = floor_s(row, machine) / row.timing.median_s;
    }
  }
  return json.dump(2) + "\n";
}

}  // namespace trireme::bench
