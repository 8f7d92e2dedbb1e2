#include "io/failure.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "trireme/base/error.hpp"
#include "trireme/base/units.hpp"

namespace trireme::io {
namespace {

std::string words(int error) {
  return std::generic_category().message(error);
}

const char* remedy(int error) {
  switch (error) {
    case ENOSPC:
      return " free space there or choose another file system";
    case EDQUOT:
      return " free space within your quota or choose another file system";
    case EFBIG:
      return " raise the limit on file sizes (`ulimit -f`) or choose another file system";
    case EROFS:
    case EACCES:
    case EPERM:
      return " choose a place that you may write to";
    case EMFILE:
    case ENFILE:
      return " raise the limit on open files (`ulimit -n`)";
    default:
      return "";
  }
}

/// Free bytes as a person reads them; asking must not fail or be injected with faults while another failure is told.
std::string free_text(const std::string& path) {
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) != 0) {
    return "unknown";
  }
  return fmt::format("{} bytes ({})", std::uint64_t{space.f_bavail} * space.f_frsize,
                     format_bytes(std::uint64_t{space.f_bavail} * space.f_frsize));
}

}  // namespace

void throw_failure(const std::string& what, const char* call, int error) {
  throw SystemError(fmt::format("cannot {} ({}: {}){}", what, call, words(error), remedy(error)));
}

void throw_write_failure(const std::string& path, const char* call, std::uint64_t offset, std::uint64_t bytes,
                         int error) {
  const std::string what = fmt::format("write `{}`", path);
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) {
    throw_failure(fmt::format("{} at byte {}", what, offset), call, error);
  }
  throw SystemError(fmt::format("cannot {} ({}: {}; needed {} bytes at byte {}, free {}){}", what, call, words(error),
                                bytes, offset, free_text(path), remedy(error)));
}

}  // namespace trireme::io
