#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "trireme/base/text.hpp"
#include "trireme/base/units.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::plan {
namespace {

constexpr double percent = 100;

std::string chunk_text(const model::ChunkRange& chunk) {
  std::vector<std::string> parts;
  if (chunk.embedding) parts.emplace_back("embedding");
  if (chunk.num_blocks == 1) parts.push_back(fmt::format("{}", chunk.first_block));
  if (chunk.num_blocks > 1) parts.push_back(fmt::format("{}-{}", chunk.first_block, chunk.end_block() - 1));
  if (chunk.head) parts.emplace_back("head");
  return join(parts, " ");
}

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(bytes));
}

/// `1 rank`, `8 ranks`, `3 micro-batches`.
std::string counted(std::int64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : what[std::strlen(what) - 1] == 'h' ? "es" : "s");
}

std::string layout_text(const Plan& plan) {
  std::string text = fmt::format("grid {} (data x tensor x pipeline), {}: {} of {} a data rank", plan.grid.text(),
                                 counted(plan.grid.size(), "rank"), counted(plan.micro_batches, "micro-batch"),
                                 counted(plan.micro_batch, "sequence"));
  if (plan.slices > 1) text += fmt::format(", {} tensor slices", plan.slices);
  if (plan.grid[comm::Axis::data] > 1) {
    text += fmt::format(", state shared in groups of {}, gradients {}", plan.group,
                        plan.gradients_shared ? "too" : "whole");
  }
  return text + "\n";
}

/// One line a stage.
std::string stages_text(const Plan& plan) {
  std::string text = fmt::format("\n{:<6} {:>12} {:>10} {:>8} {:>10} {:>10}  {}\n", "stage", "parameters", "passes",
                                 "idle", "reduce", "update", "blocks");
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StagePlan& stage = plan.stages[i];
    std::vector<std::string> chunks;
    for (const model::ChunkRange& chunk : stage.chunks) chunks.push_back(chunk_text(chunk));
    text += fmt::format("{:<6} {:>12} {:>10} {:>6.1f} % {:>10} {:>10}  {}\n", i,
                        format_count(static_cast<std::uint64_t>(stage.parameters)), format_seconds(stage.compute_s),
                        percent * plan.simulation.idle_share[i], format_seconds(stage.reduce_s),
                        format_seconds(stage.update_s), join(chunks, ", "));
  }
  return text;
}

std::string traffic_text(const Plan& plan) {
  std::string text =
      fmt::format("\n{:<16} {:>10} {:>12} {:>10} {:>10}\n", "sent by a rank", "messages", "bytes", "time", "exposed");
  for (const comm::Axis axis : {comm::Axis::data, comm::Axis::tensor, comm::Axis::pipeline}) {
    if (plan.grid[axis] == 1) continue;
    const AxisTraffic& traffic = plan.along(axis);
    const std::string exposed = axis == comm::Axis::pipeline ? "in idle" : format_seconds(traffic.exposed_s);
    text += fmt::format("{:<16} {:>10.0f} {:>12} {:>10} {:>10}\n", comm::name_of(axis), traffic.messages,
                        bytes_text(traffic.sent_bytes), format_seconds(traffic.time_s), exposed);
  }
  return plan.grid.size() == 1 ? "" : text;
}

std::string memory_row(std::string_view name, std::vector<std::int64_t> bytes) {
  std::sort(bytes.begin(), bytes.end());
  const auto text = [&](std::size_t i) { return format_bytes(static_cast<std::uint64_t>(bytes[i])); };
  return fmt::format("{:<16} {:>12} {:>12} {:>12}\n", name, text(0), text(bytes.size() / 2), text(bytes.size() - 1));
}

std::string memory_text(const Plan& plan) {
  if (plan.memory.empty()) return {};
  std::string text = fmt::format("\n{:<16} {:>12} {:>12} {:>12}\n", "memory of a rank", "minimum", "median", "maximum");
  for (int c = 0; c < device::num_memory_classes; ++c) {
    std::vector<std::int64_t> bytes;
    for (const MemoryBytes& rank : plan.memory) bytes.push_back(rank[static_cast<std::size_t>(c)]);
    if (*std::max_element(bytes.begin(), bytes.end()) == 0) continue;
    text += memory_row(device::name_of(static_cast<device::MemoryClass>(c)), bytes);
  }
  std::vector<std::int64_t> sums;
  for (const MemoryBytes& rank : plan.memory)
    sums.push_back(std::accumulate(rank.begin(), rank.end(), std::int64_t{0}));
  return text + memory_row("all", sums);
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string text = layout_text(plan);
  text += fmt::format("step {}: {:.0f} tokens/s, MFU {:.1f} %, schedule {}, bubble {:.1f} %\n",
                      format_seconds(plan.step_time_s), plan.tokens_per_s, percent * plan.mfu,
                      pipeline::name(plan.schedule.kind), percent * plan.simulation.bubble_share);
  return text + stages_text(plan) + traffic_text(plan) + memory_text(plan);
}

}  // namespace trireme::plan
