#include "checkpoint/slurm_job.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include <fmt/core.h>
#include <sys/wait.h>

namespace trireme::checkpoint {
namespace {

constexpr std::array<std::string_view, 10> end_states{"COMPLETED", "CANCELLED",    "FAILED",   "TIMEOUT",
                                                      "NODE_FAIL", "BOOT_FAIL",    "DEADLINE", "PREEMPTED",
                                                      "REVOKED",   "OUT_OF_MEMORY"};

struct Answer {
  int exit_code = -1;
  std::string text;
};

Answer run(const std::string& command) {
  Answer answer;
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return answer;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) answer.text += line.data();
  const int status = ::pclose(pipe);
  if (status >= 0 && WIFEXITED(status)) answer.exit_code = WEXITSTATUS(status);
  return answer;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool has_job_ended(const std::string& job, bool same_cluster) {
  if (!is_number(job)) return false;  // it comes from a file and goes to a shell
  const Answer answer = run(fmt::format("timeout 10 squeue -h -j {} -o %T 2>&1", job));
  if (answer.exit_code != 0) return same_cluster && answer.text.find("Invalid job id") != std::string::npos;
  const std::string state = answer.text.substr(0, answer.text.find('\n'));
  if (state.empty()) return same_cluster;
  return std::find(end_states.begin(), end_states.end(), state) != end_states.end();
}

}  // namespace trireme::checkpoint
