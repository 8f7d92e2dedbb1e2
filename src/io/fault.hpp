// What stands between the program and each system call: the injected faults and the limit on bytes per call.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string>

namespace trireme::io {

/// Asks the hook of the tests, then TRIREME_FAULT. Returns the errno the call must fail with, or 0; may lower *bytes.
int injected_fault(const char* call, const std::string& path, std::size_t* bytes = nullptr);

/// Most bytes handed to one read or write: 1 GiB (Linux itself stops at 2 GiB), or TRIREME_MAX_IO_BYTES.
std::size_t max_io_bytes();

/// For tests: both variables are otherwise read once per process.
void read_environment_again();

/// Makes system calls until one is not interrupted: `call` returns a negative number and sets errno on failure.
/// An injected fault takes the place of the call.
template <class Call>
auto guarded(const char* name, const std::string& path, Call&& call) -> decltype(call()) {
  for (;;) {
    if (const int fault = injected_fault(name, path); fault != 0) {
      errno = fault;
    } else if (const auto result = call(); result >= 0) {
      return result;
    }
    if (errno != EINTR) {
      return -1;
    }
  }
}

}  // namespace trireme::io
