// Errors that end a command, and contracts that end a debug build.
#pragma once

#include <stdexcept>
#include <string>

namespace trireme {

/// What the process returns; job scripts branch on these numbers.
enum class ExitCode : int {
  finished = 0,
  input_error = 2,     ///< deck, data, checkpoint or grid: the user's to mend
  system_error = 3,    ///< MPI, HDF5, CUDA, disk
  numerical_stop = 4,  ///< NaN or Inf, replicas that differ
  stopped_early = 75   ///< stopped at a committed checkpoint: run again to go on
};

/// An error that ends the command. The text follows *problem (why) suggestion*, with values in backticks.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Something the user gave is wrong: exit code 2.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(ExitCode::input_error, message) {}
};

/// A foreign library or the operating system failed: exit code 3.
class SystemError : public Error {
 public:
  explicit SystemError(const std::string& message) : Error(ExitCode::system_error, message) {}
};

/// The numbers went wrong: exit code 4.
class NumericalError : public Error {
 public:
  explicit NumericalError(const std::string& message) : Error(ExitCode::numerical_stop, message) {}
};

/// Prints the broken contract and aborts.
[[noreturn]] void contract_failed(const char* condition, const char* file, int line);

}  // namespace trireme

/// A contract between our own functions: checked in debug builds, compiled but never evaluated in others.
#ifdef TRIREME_CONTRACTS
#define TRIREME_EXPECT(condition) \
  ((condition) ? static_cast<void>(0) : ::trireme::contract_failed(#condition, __FILE__, __LINE__))
#else
#define TRIREME_EXPECT(condition) static_cast<void>(sizeof(!(condition)))
#endif
