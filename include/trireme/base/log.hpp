// One voice: rank 0 speaks to the terminal and to log.txt; other ranks speak only of errors.
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

namespace trireme::log {

enum class Level { debug, info, warning, error };

/// Makes this process the speaker or silent; before the call every process speaks. `rank` prefixes a silent rank's
/// errors.
void configure(bool speaks, int rank, Level lowest);

/// Copies every later line to `path` (appended, flushed line by line). Throws SystemError when it cannot be opened.
void add_file(const std::string& path);

/// Flushes and closes the file; nothing is written to it after this.
void close_file();

void write(Level level, const std::string& line);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace trireme::log
