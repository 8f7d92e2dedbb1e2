// The words of a failed system call.
#pragma once

#include <cstdint>
#include <string>

namespace trireme::io {

/// Throws SystemError: `cannot WHAT (CALL: errno's words)`, with a remedy where there is one.
[[noreturn]] void throw_failure(const std::string& what, const char* call, int error);

/// The same for a write of `bytes` at `offset`; a full disk, quota or size limit also says needed and free bytes.
[[noreturn]] void throw_write_failure(const std::string& path, const char* call, std::uint64_t offset,
                                      std::uint64_t bytes, int error);

}  // namespace trireme::io
