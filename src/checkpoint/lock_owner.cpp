#include "checkpoint/lock_owner.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <fmt/core.h>
#include <unistd.h>

#include "trireme/base/host.hpp"

#include "checkpoint/folder.hpp"
#include "checkpoint/slurm_job.hpp"

namespace trireme::checkpoint {
namespace {

/// Kernel files have no size, so the plain file reader cannot read them.
std::string read_kernel_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

template <class T>
bool read_number(const std::string& text, T& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && stop == text.data() + text.size();
}

std::string pid_namespace() {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", target.data(), target.size() - 1);
  return length < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find_first_of(" \n"));
}

}  // namespace

std::optional<std::uint64_t> process_start_time(std::int64_t pid) {
  const std::string stat = read_kernel_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = stat.rfind(')');  // the name may hold spaces and parentheses
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  constexpr int fields_between = 18;  // state is field 3, start time field 22
  std::string skipped;
  for (int i = 0; i < fields_between; ++i) fields >> skipped;
  std::uint64_t start_time = 0;
  fields >> start_time;
  return start_time;
}

LockOwner this_process(double beat_interval_s) {
  LockOwner self;
  self.token = random_id();
  self.host = host_name();
  self.boot_id = first_word(read_kernel_file("/proc/sys/kernel/random/boot_id"));
  self.pid_namespace = pid_namespace();
  self.pid = ::getpid();
  self.start_time = process_start_time(self.pid).value_or(0);
  self.cluster = environment("SLURM_CLUSTER_NAME");
  self.job = environment("SLURM_JOB_ID");
  if (!read_number(environment("SLURM_RESTART_COUNT"), self.restart)) self.restart = 0;
  self.beat_interval_s = beat_interval_s;
  return self;
}

std::string text_of(const LockOwner& owner) {
  return fmt::format(
      "token={}\nhost={}\nboot_id={}\npid_namespace={}\npid={}\nstart_time={}\ncluster={}\njob={}\nrestart={}\n"
      "beat_interval_s={}\n",
      owner.token, owner.host, owner.boot_id, owner.pid_namespace, owner.pid, owner.start_time, owner.cluster,
      owner.job, owner.restart, owner.beat_interval_s);
}

std::optional<LockOwner> parse_owner(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) return std::nullopt;
    values[line.substr(0, equals)] = line.substr(equals + 1);
  }
  LockOwner owner;
  const bool numbers_fine =
      read_number(values["pid"], owner.pid) && read_number(values["start_time"], owner.start_time) &&
      read_number(values["restart"], owner.restart) && read_number(values["beat_interval_s"], owner.beat_interval_s);
  if (!numbers_fine || values["token"].empty()) return std::nullopt;
  owner.token = values["token"];
  owner.host = values["host"];
  owner.boot_id = values["boot_id"];
  owner.pid_namespace = values["pid_namespace"];
  owner.cluster = values["cluster"];
  owner.job = values["job"];
  return owner;
}

std::string describe(const LockOwner& owner) {
  std::string text = fmt::format("process {} on host `{}`", owner.pid, owner.host);
  if (!owner.job.empty()) text += fmt::format(", job {}, restart {}", owner.job, owner.restart);
  return text;
}

OwnerState judge(const LockOwner& owner, const LockOwner& self) {
  const bool same_process_table = owner.host == self.host && owner.boot_id == self.boot_id && !self.boot_id.empty() &&
                                  owner.pid_namespace == self.pid_namespace;
  if (same_process_table) {
    return process_start_time(owner.pid) == owner.start_time ? OwnerState::alive : OwnerState::gone;
  }
  if (owner.job.empty()) return OwnerState::unknown;
  const bool same_cluster = owner.cluster == self.cluster;
  if (same_cluster && owner.job == self.job && owner.restart < self.restart) return OwnerState::gone;
  return has_job_ended(owner.job, same_cluster) ? OwnerState::gone : OwnerState::unknown;
}

}  // namespace trireme::checkpoint
