// Whether what a run will save fits on its disk: told before the first step, not days later at the save that does not.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "trireme/base/units.hpp"
#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/io/file.hpp"

namespace trireme::checkpoint {
namespace {

/// Structure of a file beside its tensors, generously.
constexpr std::uint64_t overhead_per_file = std::uint64_t{64} << 10;

std::int64_t multiples_between(std::int64_t first, std::int64_t last, std::int64_t divisor) {
  return last / divisor - first / divisor;
}

/// Steps of fixed saves that are kept for good: those by the clock rarely are.
std::int64_t added_for_good(const CheckpointOptions& options, std::int64_t first_step, std::int64_t last_step) {
  if (options.keep_every_steps == 0 || options.every_steps == 0) return 0;
  const std::int64_t period =
      options.keep_every_steps / std::gcd(options.keep_every_steps, options.every_steps) * options.every_steps;
  return multiples_between(first_step, last_step, period);
}

}  // namespace

std::uint64_t save_bytes(std::uint64_t payload_bytes, std::int64_t num_shards) {
  return payload_bytes + payload_bytes / 256 + static_cast<std::uint64_t>(num_shards + 1) * overhead_per_file;
}

std::int64_t most_added(const CheckpointOptions& options, std::int64_t num_there, std::int64_t first_step,
                        std::int64_t last_step) {
  const std::int64_t every = options.every_steps;
  std::int64_t num_saves = every == 0 || last_step % every != 0 ? 1 : 0;  // the last one
  if (every > 0) num_saves += multiples_between(first_step, last_step, every);
  if (options.every_minutes != 0) num_saves = last_step - first_step;
  const std::int64_t in_turn = options.keep + 1 - std::min(num_there, options.keep);
  return std::min(num_saves, in_turn + added_for_good(options, first_step, last_step));
}

std::string room_problem(const std::string& folder, const CheckpointOptions& options, std::uint64_t bytes,
                         std::int64_t first_step, std::int64_t last_step) {
  if (first_step == last_step) return {};
  const auto num_there = static_cast<std::int64_t>(list_steps(folder).size());
  const auto added = static_cast<std::uint64_t>(most_added(options, num_there, first_step, last_step));
  const std::uint64_t free = io::free_bytes(folder);
  if (free < bytes) {
    return fmt::format(
        "`{}` has no room for a checkpoint (needed {} bytes, free {}: {}) free space there before the first "
        "save",
        folder, bytes, free, format_bytes(free));
  }
  if (free / added >= bytes) return {};
  return fmt::format(
      "`{}` will be short of room (up to {} more checkpoints lie there at once with `checkpoint.keep = {}`: needed {} "
      "bytes, free {}: {}) free space there, or keep fewer",
      folder, added, options.keep, added * bytes, free, format_bytes(free));
}

}  // namespace trireme::checkpoint
