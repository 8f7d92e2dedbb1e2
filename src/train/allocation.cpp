#include "train/allocation.hpp"

#include <charconv>
#include <chrono>
#include <cstdlib>

#include <fmt/core.h>

#include "trireme/base/command.hpp"
#include "trireme/base/log.hpp"

namespace trireme::train {

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<TimeLeft> no_answer(const std::string& source, const std::string& answer) {
  log::warning("when this job ends is not known (`{}` answered `{}`) set `walltime.limit_minutes`, or rely on a signal",
               source, trimmed(answer));
  return std::nullopt;
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::optional<TimeLeft> ask_command(const std::string& command) {
  const CommandResult answer = run_command("timeout 10 sh -c " + shell_quoted(command));
  const auto seconds = parse_number<double>(trimmed(answer.text));
  if (answer.exit_code != 0 || !seconds) return no_answer("walltime.left_command", answer.text);
  return TimeLeft{*seconds, "walltime.left_command"};
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<TimeLeft> ask_slurm(const std::string& job) {
  const std::string end_time = environment("SLURM_JOB_END_TIME");
  if (const auto end = parse_number<std::int64_t>(end_time)) {
    return TimeLeft{static_cast<double>(*end) - unix_seconds(), "SLURM_JOB_END_TIME"};
  }
  const CommandResult answer = run_command(fmt::format("timeout 10 squeue -h -j {} -o %L 2>&1", job));
  const std::string_view left = trimmed(answer.text);
  if (answer.exit_code == 0 && left == "UNLIMITED") return std::nullopt;
  const auto seconds = parse_slurm_time(left);
  if (answer.exit_code != 0 || !seconds) return no_answer("squeue", answer.text);
  return TimeLeft{*seconds, "squeue"};
}

}  // namespace

std::optional<double> parse_slurm_time(std::string_view text) {
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = parse_number<std::uint32_t>(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  double seconds = 0;
  for (int part = 0; part < 3; ++part) {
    const std::size_t colon = text.find(':');
    const auto number = parse_number<std::uint32_t>(text.substr(0, colon));
    if (!number) return std::nullopt;
    seconds = 60 * seconds + *number;
    if (colon == std::string_view::npos) return 86400 * days + seconds;
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

std::optional<TimeLeft> ask_time_left(const config::WalltimeOptions& options) {
  if (!options.left_command.empty()) return ask_command(options.left_command);
  const std::string job = environment("SLURM_JOB_ID");
  if (!parse_number<std::uint64_t>(job)) return std::nullopt;  // it goes to a shell
  return ask_slurm(job);
}

}  // namespace trireme::train
