// What this machine gives: tables for people, JSON for tools.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/device.hpp"

namespace trireme::bench {

enum class Subject : std::uint8_t { gemm, kernels, comm, io, rates };

struct Options {
  Subject subject = Subject::gemm;
  bool json = false;         ///< one JSON object instead of a table
  std::string folder = ".";  ///< io: where the files are written
  std::int64_t mib = 64;     ///< io: size of a rank's file
};

/// Whether all ranks of a job measure together; the others measure one process.
[[nodiscard]] bool needs_ranks(Subject subject);

/// Measures and prints, on rank 0; operands are really written, figures are medians over repeats with their spread.
/// Collective where needs_ranks. Throws InputError for a folder that is none, SystemError for a failed file.
void run(comm::Communicator& world, const device::Device& device, const Options& options);

}  // namespace trireme::bench
