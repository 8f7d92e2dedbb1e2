// Removal of what is no longer wanted. A folder is renamed before it is emptied: no half-removed checkpoint is ever
// seen.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/folder.hpp"

namespace trireme::checkpoint {
namespace {

constexpr std::array<std::string_view, 2> leftover_prefixes{".staging_", ".removing_"};

bool is_leftover(const std::string& name) {
  return std::any_of(leftover_prefixes.begin(), leftover_prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

void remove_step(const std::string& folder, std::int64_t step) {
  const std::string doomed = fmt::format("{}/.removing_{:08}.{}", folder, step, random_id().substr(0, 8));
  io::rename(step_folder(folder, step), doomed);
  io::remove_tree(doomed);
}

}  // namespace

void rotate(const std::string& folder, const CheckpointOptions& options, std::int64_t newest_step) {
  std::vector<std::int64_t> steps = list_steps(folder);
  std::erase_if(steps, [&](std::int64_t step) { return step > newest_step; });
  const auto keep = static_cast<std::size_t>(std::max<std::int64_t>(options.keep, 1));
  if (steps.size() <= keep) return;
  steps.resize(steps.size() - keep);
  std::erase_if(steps, [&](std::int64_t step) {
    const bool is_kept_for_good = options.keep_every_steps > 0 && step % options.keep_every_steps == 0;
    return is_kept_for_good || step == newest_step;
  });
  for (const std::int64_t step : steps) remove_step(folder, step);
  if (!steps.empty()) io::sync_folder(folder);
}

void clean_staging(const std::string& folder) {
  for (const std::string& name : io::list_folder(folder)) {
    const std::string path = folder + "/" + name;
    if (is_leftover(name) && io::is_real_folder(path)) io::remove_tree(path);
  }
}

}  // namespace trireme::checkpoint
