#include "trireme/model/partition.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"
#include "trireme/model/counts.hpp"

namespace trireme::model {
namespace {

using Counts = std::vector<std::int64_t>;  // blocks by virtual stage

std::string parts_text(int stages, int chunks) {
  return fmt::format("`grid.pipeline` of {} and `pipeline.chunks` of {} make {} parts", stages, chunks,
                     std::int64_t{stages} * chunks);
}

void refuse_too_few(std::int64_t layers, int stages, int chunks) {
  if (layers >= std::int64_t{stages} * chunks) return;
  std::vector<std::string> ways;
  if (layers / chunks > 0) ways.push_back(fmt::format("`grid.pipeline` of at most {}", layers / chunks));
  if (chunks > 1 && layers / stages > 0) {
    ways.push_back(fmt::format("`pipeline.chunks` of at most {}", layers / stages));
  }
  ways.push_back(fmt::format("at least {} layers", std::int64_t{stages} * chunks));
  throw InputError(fmt::format(
      "`model.layers` is `{}` ({}, and each needs a block unless `pipeline.layers_per_stage` says otherwise) use {}",
      layers, parts_text(stages, chunks), join(ways, " or ")));
}

void check_given(const Counts& given, std::int64_t layers, int stages, int chunks) {
  const std::int64_t parts = std::int64_t{stages} * chunks;
  if (static_cast<std::int64_t>(given.size()) != parts) {
    throw InputError(
        fmt::format("`pipeline.layers_per_stage` has {} number{} ({}) give one a part, in the order of the model{}",
                    given.size(), given.size() == 1 ? "" : "s", parts_text(stages, chunks),
                    chunks == 1 ? "" : ": the first chunks of all stages, then the second ones, ..."));
  }
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t count = given[static_cast<std::size_t>(part)];
    if (count > 0 || (count == 0 && (part == 0 || part == parts - 1))) continue;
    throw InputError(
        fmt::format("`pipeline.layers_per_stage` gives {} blocks to part {} of 0 ... {} (only the first, which has the "
                    "embedding, and "
                    "the last, which has the head, can do without) give it at least 1",
                    count, part, parts - 1));
  }
  // Numbers above `layers` are wrong by themselves, and so they cannot overflow the sum.
  const bool small = std::all_of(given.begin(), given.end(), [&](std::int64_t count) { return count <= layers; });
  if (small && std::accumulate(given.begin(), given.end(), std::int64_t{0}) == layers) return;
  throw InputError(fmt::format(
      "`pipeline.layers_per_stage` = [{}] does not add up to `model.layers` = {} (every block stands on one "
      "stage) change one of them",
      fmt::join(given, ", "), layers));
}

/// Of first, first + step, ...: the index of the least time; of equal ones the last.
std::size_t least(const std::vector<double>& times, std::size_t first, std::size_t step) {
  std::size_t best = first;
  for (std::size_t i = first; i < times.size(); i += step) {
    if (times[i] <= times[best]) best = i;
  }
  return best;
}

/// Blocks are equal, so giving each to the stage that is least loaded makes the largest load as small as it can be.
Counts balanced(const ModelOptions& options, int stages, int chunks) {
  const double block = block_flop_per_token(options).total();
  const double head = chunk_flop_per_token(options, {.num_blocks = 0, .head = true}).total();
  const auto p = static_cast<std::size_t>(stages);
  const std::size_t parts = p * static_cast<std::size_t>(chunks);
  Counts counts(parts, 1);
  std::vector<double> part_times(parts, block);
  std::vector<double> stage_times(p, chunks * block);
  part_times.back() += head;
  stage_times.back() += head;
  for (auto rest = options.layers - static_cast<std::int64_t>(parts); rest > 0; --rest) {
    const std::size_t stage = least(stage_times, 0, 1);
    const std::size_t part = least(part_times, stage, p);
    ++counts[part];
    part_times[part] += block;
    stage_times[stage] += block;
  }
  return counts;
}

}  // namespace

ChunkRange whole_model(const ModelOptions& options) {
  return {.first_block = 0, .num_blocks = options.layers, .embedding = true, .head = true};
}

std::vector<ChunkRange> partition(const ModelOptions& options, int stages, int chunks, const Counts& layers_per_stage) {
  Counts counts = layers_per_stage;
  if (counts.empty()) {
    refuse_too_few(options.layers, stages, chunks);
    counts = balanced(options, stages, chunks);
  } else {
    check_given(counts, options.layers, stages, chunks);
  }
  std::vector<ChunkRange> ranges;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    ranges.push_back({.first_block = first, .num_blocks = count});
    first += count;
  }
  ranges.front().embedding = true;
  ranges.back().head = true;
  return ranges;
}

}  // namespace trireme::model
