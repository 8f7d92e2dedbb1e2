#include "comm/mpi/mpi_check.hpp"

#include <array>

#include <fmt/format.h>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

void throw_mpi_error(int code, const char* call, const MpiSite& site, const std::string& what) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> words{};
  int length = 0;
  if (MPI_Error_string(code, words.data(), &length) != MPI_SUCCESS) length = 0;
  throw CommunicationError(fmt::format("`{}` failed ({}) on rank {}, host `{}`, while {}", call,
                                       length > 0 ? words.data() : fmt::format("error {}", code), site.world_rank,
                                       site.host, what));
}

}  // namespace trireme::comm
