#include "trireme/base/log.hpp"

#include <cstdio>
#include <memory>
#include <mutex>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "trireme/base/error.hpp"
#include "trireme/base/host.hpp"

namespace trireme::log {
namespace {

spdlog::level::level_enum vendor_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> terminal(spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("terminal", std::move(sink));
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::trace);
  return logger;
}

/// The process's voice. A process has one terminal and one log, so this is the one object of its kind.
struct Voice {
  std::mutex lock;
  std::string prefix;  ///< of a silent rank
  Level lowest = Level::info;
  std::shared_ptr<spdlog::logger> standard_output = terminal(std::make_shared<spdlog::sinks::stdout_sink_mt>());
  std::shared_ptr<spdlog::logger> standard_error = terminal(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  std::shared_ptr<spdlog::logger> file;
};

Voice& voice() {
  static Voice instance;
  return instance;
}

const char* label(Level level) {
  return level == Level::warning ? "warning: " : level == Level::error ? "error: " : "";
}

}  // namespace

void configure(bool speaks, int rank, Level lowest) {
  Voice& v = voice();
  const std::scoped_lock guard(v.lock);
  v.prefix = speaks ? "" : fmt::format("rank {} on {}: ", rank, host_name());
  v.lowest = speaks ? lowest : Level::error;
}

void add_file(const std::string& path) {
  Voice& v = voice();
  const std::scoped_lock guard(v.lock);
  try {
    auto logger = std::make_shared<spdlog::logger>("file", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
    logger->set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc));
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    // A full disk must not end or flood a run because of its log: it is said once, on the terminal.
    logger->set_error_handler([path, said = false](const std::string& words) mutable {
      if (!said) {
        std::fprintf(stderr, "warning: cannot write to `%s` (%s) the run goes on\n", path.c_str(), words.c_str());
        said = true;
      }
    });
    v.file = std::move(logger);
  } catch (const spdlog::spdlog_ex& failure) {
    throw SystemError(fmt::format("cannot open the log file `{}` ({})", path, failure.what()));
  }
}

void close_file() {
  Voice& v = voice();
  const std::scoped_lock guard(v.lock);
  v.file.reset();
}

void write(Level level, const std::string& line) {
  Voice& v = voice();
  const std::scoped_lock guard(v.lock);
  if (level < v.lowest) {
    return;
  }
  const std::string whole = v.prefix + label(level) + line;
  const auto& stream = level >= Level::warning ? v.standard_error : v.standard_output;
  stream->log(vendor_level(level), whole);
  if (v.file) {
    v.file->log(vendor_level(level), whole);
  }
}

}  // namespace trireme::log
