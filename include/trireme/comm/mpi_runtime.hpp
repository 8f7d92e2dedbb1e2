// MPI for the life of a command.
#pragma once

#include <memory>
#include <string>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

/// Brings MPI up at construction and down at destruction; one per process, made by main.
///
/// Outside of a launcher no MPI call is made at all (MPI_Init aborts on login nodes): world() is then the communicator
/// of one rank. Ranks started by a launcher whose MPI does not connect them (srun without a matching --mpi) each see
/// one rank: that is refused with SystemError, whose text is empty on all but the launcher's rank 0 (one voice: say
/// nothing then).
///
/// A rank alone in MPI_Finalize would wait for ever for the others, so an exception that passes the destructor ends the
/// whole job: catch errors inside the life of the runtime.
class MpiRuntime {
 public:
  MpiRuntime(int& argc, char**& argv);
  ~MpiRuntime();
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;
  [[nodiscard]] Communicator& world();

 private:
  std::unique_ptr<Communicator> world_;
  bool started_ = false;
  int exceptions_at_start_ = 0;
};

/// True when the environment shows that a launcher (mpirun, srun, ...) started this process.
[[nodiscard]] bool started_by_launcher();

/// The library's own version line, for --version.
[[nodiscard]] std::string mpi_version();

}  // namespace trireme::comm
