// Commands of the system, for what no library tells.
#pragma once

#include <string>

namespace trireme {

struct CommandResult {
  int exit_code = -1;  ///< -1: not run, or ended by a signal
  std::string text;    ///< standard output
};

/// Runs `command` by the shell and waits for it; put `timeout` in front of what may hang. Never throws.
[[nodiscard]] CommandResult run_command(const std::string& command);

}  // namespace trireme
