#include "train/report.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "trireme/base/timer.hpp"
#include "trireme/base/units.hpp"
#include "trireme/io/file.hpp"
#include "trireme/kernels/cast.hpp"
#include "trireme/model/counts.hpp"

namespace trireme::train {

using comm::Axis;

std::string describe_memory(comm::Communicator& world, const device::Arena& arena) {
  std::vector<std::int64_t> mine;
  for (int c = 0; c < device::num_memory_classes; ++c) {
    mine.push_back(static_cast<std::int64_t>(arena.used_bytes(static_cast<device::MemoryClass>(c))));
  }
  mine.push_back(static_cast<std::int64_t>(arena.used_bytes()));
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(world.size()));
  world.all_gather(mine.data(), mine.size() * sizeof(std::int64_t), all.data());

  std::string text = "memory of a rank      minimum      median     maximum";
  for (std::size_t c = 0; c < mine.size(); ++c) {
    std::vector<std::int64_t> values;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(world.size()); ++rank) {
      values.push_back(all[rank * mine.size() + c]);
    }
    std::sort(values.begin(), values.end());
    const auto shown = [&](std::size_t index) { return format_bytes(static_cast<std::uint64_t>(values[index])); };
    const bool total = c + 1 == mine.size();
    text += fmt::format("\n  {:<14}{:>13}{:>12}{:>12}",
                        total ? "all" : device::name_of(static_cast<device::MemoryClass>(c)), shown(0),
                        shown(values.size() / 2), shown(values.size() - 1));
  }
  return text;
}

std::string describe_flop(comm::Communicator& world, double flop) {
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  world.all_gather(&flop, sizeof(flop), all.data());
  double total = 0;
  for (const double one : all) total += one;
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  return fmt::format("matrix products: {:.4g} GFLOP by all ranks; {:.4g} (rank {}) to {:.4g} (rank {}) each",
                     total * 1e-9, *least * 1e-9, least - all.begin(), *most * 1e-9, most - all.begin());
}

std::string describe_model(const model::ModelOptions& options) {
  return fmt::format(
      "model: {} layers, width {}, {} heads, context {}, vocabulary {}; {} parameters, {:.3g} GFLOP per token",
      options.layers, options.width, options.heads, options.context, options.vocab,
      format_count(static_cast<std::uint64_t>(model::parameter_count(options))), model::flop_per_token(options) * 1e-9);
}

void write_grid_table(const comm::ProcessGrid& grid, const std::string& layers, std::int64_t owned_elements,
                      const std::string& path) {
  const std::vector<std::string> parts = grid.world().all_gather_text(fmt::format("{}\t{}", layers, owned_elements));
  comm::on_root(grid.world(), [&] {
    std::string table = "rank\thost\tdata\ttensor\tpipeline\tlayers\towned_parameters\n";
    for (int rank = 0; rank < grid.world().size(); ++rank) {
      const comm::GridShape at = grid.shape().coordinates_of(rank);
      table += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", rank, grid.hosts()[static_cast<std::size_t>(rank)],
                           at[Axis::data], at[Axis::tensor], at[Axis::pipeline], parts[static_cast<std::size_t>(rank)]);
    }
    io::write_text_atomically(path, table);
  });
}

double measure_gemm_rate(const device::Device& device, kernels::Gemm& gemm, Dtype compute) {
  constexpr std::int64_t size = 1024;
  device::Arena arena(size * size * (sizeof(float) + 3 * size_of(compute)) + 4096);
  const auto make = [&](Dtype dtype) {
    return tensor::allocate(arena, {size, size}, dtype, device::MemoryClass::buffers);
  };
  const tensor::Tensor numbers = make(Dtype::f32);
  std::fill_n(numbers.as<float>(), size * size, 0.25F);
  const tensor::Tensor x = make(compute);
  const tensor::Tensor weight = make(compute);
  const tensor::Tensor y = make(compute);
  kernels::cast(device, numbers, x);
  kernels::cast(device, numbers, weight);
  double best_s = 1e30;
  for (int repeat = 0; repeat < 6; ++repeat) {
    const Timer timer;
    gemm.forward(x, weight, {}, y);
    if (repeat > 0) best_s = std::min(best_s, timer.seconds());
  }
  return 2.0 * size * size * size / best_s;
}

std::int64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

}  // namespace trireme::train
