// Names of the folders and files of checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trireme::checkpoint {

/// The step in a name of the exact form `step_00000100`, else nothing.
[[nodiscard]] std::optional<std::int64_t> step_of_name(const std::string& name);
/// `step_00000100`
[[nodiscard]] std::string step_name(std::int64_t step);
/// `shard_00003.h5`
[[nodiscard]] std::string shard_name(std::int64_t shard);
inline constexpr const char* index_name = "index.h5";

/// The last component of a path, trailing slashes apart.
[[nodiscard]] std::string base_name(const std::string& path);

/// 32 random hexadecimal digits.
[[nodiscard]] std::string random_id();

}  // namespace trireme::checkpoint
