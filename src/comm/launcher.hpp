// What the environment tells about how this process was started.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace trireme::comm {

struct Launcher {
  std::string name;  ///< `mpirun`, `srun`, ...
  int rank = 0;
  int num_ranks = 0;     ///< 0: it does not say
  bool connects = true;  ///< it offers a process-management interface (PMI, PMIx) to the MPI library
};

/// Looks up an environment variable; nullptr when it is not set. Tests pass their own.
using Environment = std::function<const char*(const char* name)>;

/// The launcher of this process, or none.
[[nodiscard]] std::optional<Launcher> find_launcher(const Environment& environment);

/// The text for ranks that a launcher started together but that MPI does not connect.
[[nodiscard]] std::string unconnected_message(const Launcher& launcher);

}  // namespace trireme::comm
