#include "trireme/model/partition.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

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
  std::vector<std::string> numbers;
  for (const std::int64_t count : given) numbers.push_back(std::to_string(count));
  throw InputError(fmt::format(
      "`pipeline.layers_per_stage` = [{}] does not add up to `model.layers` = {} (every block stands on one "
      "stage) change one of them",
      join(numbers), layers));
}

/// Blocks are equal, so giving each to whoever is least loaded makes the largest load as small as it can be. Of equal
/// loads the last one is the next. Returns the blocks given to each.
Counts share_out(std::int64_t blocks, double block, const std::vector<double>& loads) {
  using Place = std::pair<double, std::ptrdiff_t>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> queue;
  for (std::size_t i = 0; i < loads.size(); ++i) queue.emplace(loads[i], -static_cast<std::ptrdiff_t>(i));
  Counts given(loads.size(), 0);
  for (; blocks > 0; --blocks) {
    const auto [load, place] = queue.top();
    queue.pop();
    ++given[static_cast<std::size_t>(-place)];
    queue.emplace(load + block, place);
  }
  return given;
}

/// First over the stages, then over the chunks of each; every chunk has one block beforehand, but for the head of a
/// stage of one chunk, which may be work enough.
Counts balanced(const ModelOptions& options, int stages, int chunks) {
  const double block = block_flop_per_token(options).total();
  const double head = chunk_flop_per_token(options, {.head = true}).total();
  const std::int64_t beforehand_at_end = chunks == 1 && stages > 1 ? 0 : chunks;
  std::vector<double> stage_loads(static_cast<std::size_t>(stages), chunks * block);
  stage_loads.back() = static_cast<double>(beforehand_at_end) * block + head;
  const std::int64_t beforehand = std::int64_t{stages - 1} * chunks + beforehand_at_end;
  const Counts of_stages = share_out(options.layers - beforehand, block, stage_loads);
  Counts counts(stage_loads.size() * static_cast<std::size_t>(chunks));
  for (std::size_t stage = 0; stage < stage_loads.size(); ++stage) {
    const bool last = stage + 1 == stage_loads.size();
    const std::int64_t each = last ? beforehand_at_end / chunks : 1;
    std::vector<double> chunk_loads(static_cast<std::size_t>(chunks), static_cast<double>(each) * block);
    if (last) chunk_loads.back() += head;
    const Counts of_chunks = share_out(of_stages[stage], block, chunk_loads);
    for (std::size_t chunk = 0; chunk < of_chunks.size(); ++chunk) {
      counts[chunk * stage_loads.size() + stage] = each + of_chunks[chunk];
    }
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
