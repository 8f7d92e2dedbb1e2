#include "train/attempts.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/base/text.hpp"
#include "trireme/base/units.hpp"
#include "trireme/io/file.hpp"

namespace trireme::train {
namespace {

constexpr const char* header = "attempt\tbegun_unix_s\thosts\tfirst_step\tlast_step\tran_s\tend\n";
constexpr const char* running = "running";
constexpr const char* cut = "cut";
constexpr double day_s = 86400;
/// Of one host.
constexpr double published_failures_per_day = 419.0 / (2048 * 54);

std::string line_of(const Attempt& attempt) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", attempt.number, attempt.begun_unix_s, attempt.hosts,
                     attempt.first_step, attempt.last_step, attempt.ran_s, attempt.end);
}

std::vector<Attempt> parse(const std::string& text) {
  std::vector<Attempt> attempts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Attempt attempt;
    std::istringstream columns(line);
    columns >> attempt.number >> attempt.begun_unix_s >> attempt.hosts >> attempt.first_step >> attempt.last_step >>
        attempt.ran_s >> std::ws;
    std::getline(columns, attempt.end);
    if (!columns.fail() && attempt.hosts >= 1 && attempt.ran_s >= 0) attempts.push_back(attempt);
  }
  return attempts;
}

}  // namespace

FailureRate failure_rate(const std::vector<Attempt>& attempts, std::int64_t hosts) {
  double host_days = 0;
  std::uint64_t failures = 0;
  for (const Attempt& attempt : attempts) {
    host_days += static_cast<double>(attempt.hosts) * attempt.ran_s / day_s;
    if (attempt.end == cut) ++failures;
  }
  const double per_host = (static_cast<double>(failures) + 1) / (host_days + 1 / published_failures_per_day);
  return {per_host * static_cast<double>(hosts),
          fmt::format("{} in {:.3g} host-days of this run, and the published 1 in {:.0f} host-days, on {}", failures,
                      host_days, 1 / published_failures_per_day, counted(static_cast<std::uint64_t>(hosts), "host"))};
}

Attempts::Attempts(std::string path, const Attempt& current) : path_(std::move(path)) {
  if (io::exists(path_)) all_ = parse(io::read_text(path_));
  for (Attempt& attempt : all_) {
    if (attempt.end == running) attempt.end = cut;
  }
  all_.push_back(current);
  all_.back().end = running;
  write();
}

void Attempts::saved(std::int64_t step) {
  all_.back().last_step = step;
  all_.back().ran_s = timer_.seconds();
  write();
}

void Attempts::ended(const std::string& how) {
  all_.back().ran_s = timer_.seconds();
  all_.back().end = how;
  write();
}

void Attempts::write() const {
  std::string text = header;
  for (const Attempt& attempt : all_) text += line_of(attempt);
  try {
    io::write_text_atomically(path_, text);
  } catch (const SystemError& error) {
    log::warning("the list of attempts could not be written ({}); training goes on", error.what());
  }
}

}  // namespace trireme::train
