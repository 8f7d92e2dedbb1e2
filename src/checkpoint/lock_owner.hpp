// Who holds the lock of a run folder, and whether that process is still there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trireme::checkpoint {

struct LockOwner {
  std::string token;  ///< random: names this holding of the lock
  std::string host;
  std::string boot_id;
  std::string pid_namespace;  ///< process numbers mean nothing across containers
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;  ///< of the process, in clock ticks since boot: a pid may be used again
  std::string cluster;           ///< Slurm's name of the cluster
  std::string job;               ///< Slurm job id, empty outside of jobs
  std::int64_t restart = 0;      ///< how often Slurm has requeued that job
  double beat_interval_s = 0;
};

/// This process as an owner, with a new token.
[[nodiscard]] LockOwner this_process(double beat_interval_s);

/// One `key=value` a line.
[[nodiscard]] std::string text_of(const LockOwner& owner);
/// Nothing when the text is not of text_of().
[[nodiscard]] std::optional<LockOwner> parse_owner(const std::string& text);
/// For messages: host, process and job.
[[nodiscard]] std::string describe(const LockOwner& owner);

enum class OwnerState : std::uint8_t { gone, alive, unknown };
/// What can be said of the owner at once: by the process table of this host, by our own restart of its job, or by
/// Slurm.
[[nodiscard]] OwnerState judge(const LockOwner& owner, const LockOwner& self);

/// Start time of a process of this host; nothing when there is none (a zombie is none).
[[nodiscard]] std::optional<std::uint64_t> process_start_time(std::int64_t pid);

}  // namespace trireme::checkpoint
