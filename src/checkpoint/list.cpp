#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/units.hpp"
#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/folder.hpp"
#include "checkpoint/index.hpp"

namespace trireme::checkpoint {
namespace {

/// Structure and sizes only: verify() reads the rest.
void check_complete(const std::string& folder, const Index& index) {
  for (std::size_t i = 0; i < index.shards.size(); ++i) {
    const std::string name = shard_name(static_cast<std::int64_t>(i));
    const std::string path = folder + "/" + name;
    if (!io::exists(path)) throw InputError(fmt::format("`{}` is missing", name));
    const std::uint64_t bytes = io::File(path, io::File::Mode::read).size();
    if (bytes != index.shards[i].bytes) {
      throw InputError(fmt::format("`{}` has {} bytes instead of {}", name, bytes, index.shards[i].bytes));
    }
  }
}

std::string age_of(const Index& index) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  return format_seconds(static_cast<double>(std::max<std::int64_t>(0, now_s - index.written_unix_s)));
}

void print_line(const std::string& folder, std::int64_t step) {
  try {
    const Index index = read_index(folder);
    std::string state = "yes";
    try {
      check_complete(folder, index);
    } catch (const Error& error) {
      state = fmt::format("no: {}", error.what());
    }
    fmt::print("{:>10}  {:<12} {:>12}  {:<16} {}\n", step, index.metadata.grid, format_bytes(index.total_bytes()),
               age_of(index), state);
  } catch (const Error& error) {
    fmt::print("{:>10}  {:<12} {:>12}  {:<16} no: {}\n", step, "?", "?", "?", error.what());
  }
}

}  // namespace

int print_list(const std::string& path) {
  // The newest's folder tells where its elders are, whichever kind of path was given.
  const std::string newest = find_checkpoint(path);
  const auto only = step_of_name(base_name(newest));
  fmt::print("{:>10}  {:<12} {:>12}  {:<16} {}\n", "step", "grid", "size", "age", "complete");
  if (!only || base_name(newest) == base_name(path)) {
    print_line(newest, only.value_or(-1));
    return 0;
  }
  const std::string folder = io::parent_of(newest);
  for (const std::int64_t step : list_steps(folder)) print_line(step_folder(folder, step), step);
  return 0;
}

}  // namespace trireme::checkpoint
