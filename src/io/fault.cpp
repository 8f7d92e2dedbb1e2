#include "io/fault.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "io/failure.hpp"

namespace trireme::io {
namespace {

std::mutex hook_lock;
std::shared_ptr<const FaultHook> hook;

std::shared_ptr<const FaultHook> current_hook() {
  const std::scoped_lock guard(hook_lock);
  return hook;
}

/// One clause of TRIREME_FAULT: CALL:PATH PART:ACTION[:AFTER[:TIMES]].
struct Clause {
  std::string call;
  std::string path_part;
  enum class Action : std::uint8_t { fail, kill, sleep, cut } action = Action::fail;
  double amount = 0;  ///< errno, seconds or bytes
  std::uint64_t after = 0;
  std::uint64_t times = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t seen = 0;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + 1)) {
    parts.push_back(text.substr(0, end));
  }
  parts.push_back(text);
  return parts;
}

template <class Number>
Number number(std::string_view text, std::string_view clause) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < Number{}) {
    throw InputError(fmt::format("TRIREME_FAULT: `{}` in `{}` is not a number (see src/io/README.md)", text, clause));
  }
  return value;
}

void parse_action(std::string_view text, std::string_view whole, Clause& clause) {
  const auto amount_after = [&](std::string_view word) { return number<double>(text.substr(word.size()), whole); };
  if (text == "kill") {
    clause.action = Clause::Action::kill;
  } else if (text.starts_with("sleep=")) {
    clause.action = Clause::Action::sleep;
    clause.amount = amount_after("sleep=");
  } else if (text.starts_with("short=")) {
    clause.action = Clause::Action::cut;
    clause.amount = amount_after("short=");
  } else {
    clause.amount = number<int>(text, whole);
  }
}

std::vector<Clause> clauses_of_environment() {
  std::vector<Clause> clauses;
  const char* text = std::getenv("TRIREME_FAULT");
  if (text == nullptr || *text == '\0') {
    return clauses;
  }
  for (const std::string_view whole : split(text, ';')) {
    const auto parts = split(whole, ':');
    if (parts.size() < 3 || parts.size() > 5) {
      throw InputError(
          fmt::format("TRIREME_FAULT: `{}` is not CALL:PATH:ACTION[:AFTER[:TIMES]] (see src/io/README.md)", whole));
    }
    Clause clause{.call = std::string(parts[0]), .path_part = std::string(parts[1])};
    parse_action(parts[2], whole, clause);
    if (parts.size() > 3) {
      clause.after = number<std::uint64_t>(parts[3], whole);
    }
    if (parts.size() > 4) {
      clause.times = number<std::uint64_t>(parts[4], whole);
    }
    clauses.push_back(std::move(clause));
  }
  return clauses;
}

/// True when this call is one that the clause means; counts it.
bool strikes(Clause& clause, std::string_view call, const std::string& path) {
  if (clause.call != call || path.find(clause.path_part) == std::string::npos) {
    return false;
  }
  const std::uint64_t turn = clause.seen++;
  return turn >= clause.after && turn - clause.after < clause.times;
}

int act(const Clause& clause, std::size_t* bytes) {
  switch (clause.action) {
    case Clause::Action::fail:
      return static_cast<int>(clause.amount);
    case Clause::Action::kill:
      ::kill(::getpid(), SIGKILL);
      return 0;
    case Clause::Action::sleep:
      std::this_thread::sleep_for(std::chrono::duration<double>(clause.amount));
      return 0;
    case Clause::Action::cut:
      if (bytes != nullptr && *bytes > static_cast<std::size_t>(clause.amount)) {
        *bytes = static_cast<std::size_t>(clause.amount);
      }
      return 0;
  }
  return 0;
}

std::size_t limit_of_environment() {
  constexpr std::size_t one_gib = std::size_t{1} << 30;
  const char* text = std::getenv("TRIREME_MAX_IO_BYTES");
  if (text == nullptr) {
    return one_gib;
  }
  const std::string_view digits = text;
  std::size_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{} || end != digits.data() + digits.size() || value == 0 || value > one_gib) {
    throw InputError(fmt::format("TRIREME_MAX_IO_BYTES: `{}` is not a number from 1 to {}", text, one_gib));
  }
  return value;
}

struct Environment {
  std::vector<Clause> clauses = clauses_of_environment();
  std::size_t max_bytes = limit_of_environment();
};

/// Read at the first call of the process.
Environment& environment() {
  static Environment settings;
  return settings;
}

int environment_fault(const char* call, const std::string& path, std::size_t* bytes) {
  Environment& settings = environment();
  if (settings.clauses.empty()) {
    return 0;
  }
  static std::mutex clauses_lock;
  std::vector<Clause> struck;
  {
    const std::scoped_lock guard(clauses_lock);
    for (Clause& clause : settings.clauses) {
      if (strikes(clause, call, path)) {
        struck.push_back(clause);
      }
    }
  }
  int fault = 0;
  for (const Clause& clause : struck) {
    const int one = act(clause, bytes);
    fault = fault == 0 ? one : fault;
  }
  return fault;
}

}  // namespace

void set_fault_hook(FaultHook new_hook) {
  const std::scoped_lock guard(hook_lock);
  hook = new_hook ? std::make_shared<const FaultHook>(std::move(new_hook)) : nullptr;
}

int injected_fault(const char* call, const std::string& path, std::size_t* bytes) {
  std::size_t none = 0;
  if (const auto installed = current_hook()) {
    if (const int fault = (*installed)(call, path, bytes != nullptr ? bytes : &none); fault != 0) {
      return fault;
    }
  }
  return environment_fault(call, path, bytes);
}

void meet_fault(const char* call, const std::string& path) {
  if (const int error = injected_fault(call, path); error != 0) {
    throw_failure(fmt::format("go on with `{}`", path), call, error);
  }
}

std::size_t max_io_bytes() {
  return environment().max_bytes;
}

void read_environment_again() {
  environment() = Environment();
}

}  // namespace trireme::io
