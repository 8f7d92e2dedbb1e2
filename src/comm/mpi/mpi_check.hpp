// One way to look at what MPI returns.
#pragma once

#include <cstddef>
#include <string>

#include <mpi.h>

namespace trireme::comm {

/// What error messages and the splitting of messages need to know; one for the world and all communicators made of it.
struct MpiSite {
  MPI_Comm world = MPI_COMM_NULL;  ///< aborting ends the ranks of this one
  int world_rank = 0;
  std::string host;
  std::size_t max_message_bytes = 0;  ///< more never goes in one library call
};

/// Throws CommunicationError: `MPI_Send` failed (the library's words) on rank, host, while `what`.
[[noreturn]] void throw_mpi_error(int code, const char* call, const MpiSite& site, const std::string& what);

/// Checks the return code of `call`; what() describes what was being done and is only called on failure.
template <class What>
void check(int code, const char* call, const MpiSite& site, What&& what) {
  if (code != MPI_SUCCESS) throw_mpi_error(code, call, site, what());
}

}  // namespace trireme::comm
