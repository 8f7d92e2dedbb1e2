#include "trireme/base/command.hpp"

#include <array>
#include <cstdio>

#include <sys/wait.h>

namespace trireme {

CommandResult run_command(const std::string& command) {
  CommandResult result;
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return result;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) result.text += line.data();
  const int status = ::pclose(pipe);
  if (status >= 0 && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace trireme
