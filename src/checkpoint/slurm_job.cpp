#include "checkpoint/slurm_job.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "trireme/base/command.hpp"

namespace trireme::checkpoint {
namespace {

constexpr std::array<std::string_view, 10> end_states{"COMPLETED", "CANCELLED",    "FAILED",   "TIMEOUT",
                                                      "NODE_FAIL", "BOOT_FAIL",    "DEADLINE", "PREEMPTED",
                                                      "REVOKED",   "OUT_OF_MEMORY"};

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool has_job_ended(const std::string& job, bool same_cluster) {
  if (!is_number(job)) return false;  // it comes from a file and goes to a shell
  const CommandResult answer = run_command(fmt::format("timeout 10 squeue -h -j {} -o %T 2>&1", job));
  if (answer.exit_code != 0) return same_cluster && answer.text.find("Invalid job id") != std::string::npos;
  const std::string state = answer.text.substr(0, answer.text.find('\n'));
  if (state.empty()) return same_cluster;
  return std::find(end_states.begin(), end_states.end(), state) != end_states.end();
}

}  // namespace trireme::checkpoint
