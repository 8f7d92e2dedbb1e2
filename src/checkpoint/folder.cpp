#include "checkpoint/folder.hpp"

#include <algorithm>
#include <charconv>
#include <random>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/io/file.hpp"

namespace trireme::checkpoint {
namespace {

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

std::string step_name(std::int64_t step) {
  return fmt::format("step_{:08}", step);
}

std::string shard_name(std::int64_t shard) {
  return fmt::format("shard_{:05}.h5", shard);
}

std::optional<std::int64_t> step_of_name(const std::string& name) {
  constexpr std::size_t prefix = 5;
  if (!name.starts_with("step_")) return std::nullopt;
  std::int64_t step = -1;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix, end, step);
  if (error != std::errc{} || stop != end || step < 0 || step_name(step) != name) return std::nullopt;
  return step;
}

std::string base_name(const std::string& path) {
  const std::string clean = without_trailing_slashes(path);
  return clean.substr(clean.find_last_of('/') + 1);
}

std::string random_id() {
  std::random_device device;
  std::string id;
  for (int word = 0; word < 4; ++word) id += fmt::format("{:08x}", device());
  return id;
}

std::string step_folder(const std::string& folder, std::int64_t step) {
  return without_trailing_slashes(folder) + "/" + step_name(step);
}

std::vector<std::int64_t> list_steps(const std::string& folder) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : io::list_folder(folder)) {
    const auto step = step_of_name(name);
    if (step && io::is_real_folder(folder + "/" + name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string find_checkpoint(const std::string& path) {
  const std::string clean = without_trailing_slashes(path);
  if (!io::is_folder(clean)) {
    throw InputError(
        fmt::format("there is no checkpoint at `{}` (no such folder) give a run folder or a step folder", path));
  }
  if (step_of_name(base_name(clean)) || io::exists(clean + "/" + index_name)) return clean;
  const std::string inner = clean + "/checkpoints";
  const std::string folder = io::is_folder(inner) ? inner : clean;
  const std::vector<std::int64_t> steps = list_steps(folder);
  if (steps.empty()) {
    throw InputError(fmt::format("there is no checkpoint in `{}` (no folder named like `{}`)", folder, step_name(100)));
  }
  return step_folder(folder, steps.back());
}

}  // namespace trireme::checkpoint
