#include "trireme/io/file.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/base/error.hpp"

#include "io/failure.hpp"
#include "io/fault.hpp"

namespace trireme::io {
namespace {

int flags_of(File::Mode mode) {
  switch (mode) {
    case File::Mode::read:
      return O_RDONLY | O_NONBLOCK;  // else the open of a pipe that nobody writes to never returns
    case File::Mode::create:
      return O_RDWR | O_CREAT | O_TRUNC;
    case File::Mode::append:
      return O_WRONLY | O_CREAT | O_APPEND;
    case File::Mode::read_write:
      return O_RDWR;
  }
  return O_RDONLY;
}

/// Without this a file-size limit ends the process instead of answering EFBIG.
void ignore_size_limit_signal() {
  static const bool once = ::signal(SIGXFSZ, SIG_IGN) != SIG_ERR;
  static_cast<void>(once);
}

/// A file to be read that is missing or forbidden is a wrong path, so the user's to mend.
[[noreturn]] void throw_open_failure(const std::string& path, File::Mode mode, int error) {
  if (mode == File::Mode::read && (error == ENOENT || error == ENOTDIR || error == EACCES || error == EISDIR)) {
    throw InputError(fmt::format("cannot read `{}` ({})", path, std::generic_category().message(error)));
  }
  throw_failure(fmt::format("open `{}` for {}", path, mode == File::Mode::read ? "reading" : "writing"), "open", error);
}

struct stat status_of(int descriptor, const std::string& path) {
  struct stat status {};
  if (guarded("fstat", path, [&] { return ::fstat(descriptor, &status); }) < 0) {
    throw_failure(fmt::format("ask for the size of `{}`", path), "fstat", errno);
  }
  return status;
}

/// One read or write, with faults and the limit applied: bytes moved, or -1 and errno.
template <class Call>
ssize_t transfer(const char* name, const std::string& path, std::size_t bytes, Call&& call) {
  std::size_t now = std::min(bytes, max_io_bytes());
  if (const int fault = injected_fault(name, path, &now); fault != 0) {
    errno = fault;
    return -1;
  }
  return call(now);
}

}  // namespace

File::File(std::string path, Mode mode) : path_(std::move(path)) {
  if (mode != Mode::read) {
    ignore_size_limit_signal();
  }
  descriptor_ = guarded("open", path_, [&] { return ::open(path_.c_str(), flags_of(mode) | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) {
    throw_open_failure(path_, mode, errno);
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    throw_open_failure(path_, mode, EISDIR);
  }
  if (mode == Mode::read && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
    ::close(std::exchange(descriptor_, -1));
    throw InputError(
        fmt::format("cannot read `{}` (it is a pipe, and files are read at any place) write it to a file", path_));
  }
}

File::~File() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

File::File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::uint64_t File::size() const {
  return static_cast<std::uint64_t>(status_of(descriptor_, path_).st_size);
}

void File::read_at(std::uint64_t offset, void* data, std::size_t bytes) const {
  auto* to = static_cast<char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const auto place = static_cast<off_t>(offset + done);
    const ssize_t got = transfer("pread", path_, bytes - done,
                                 [&](std::size_t now) { return ::pread(descriptor_, to + done, now, place); });
    if (got < 0 && errno != EINTR) {
      throw_failure(fmt::format("read `{}` at byte {}", path_, offset + done), "pread", errno);
    }
    if (got == 0) {
      throw InputError(
          fmt::format("`{}` is too short (wanted {} bytes at byte {}, only {} are there)", path_, bytes, offset, done));
    }
    done += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
}

void File::write_at(std::uint64_t offset, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const auto place = static_cast<off_t>(offset + done);
    const ssize_t put = transfer("pwrite", path_, bytes - done,
                                 [&](std::size_t now) { return ::pwrite(descriptor_, from + done, now, place); });
    if (put == 0 || (put < 0 && errno != EINTR)) {  // a write that moves nothing would be tried for ever
      throw_write_failure(path_, "pwrite", offset + done, bytes - done, put == 0 ? EIO : errno);
    }
    done += put > 0 ? static_cast<std::size_t>(put) : 0;
  }
}

void File::write(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t put =
        transfer("write", path_, bytes - done, [&](std::size_t now) { return ::write(descriptor_, from + done, now); });
    if (put == 0 || (put < 0 && errno != EINTR)) {
      const int error = put == 0 ? EIO : errno;
      throw_write_failure(path_, "write", size(), bytes - done, error);
    }
    done += put > 0 ? static_cast<std::size_t>(put) : 0;
  }
}

void File::truncate(std::uint64_t bytes) {
  if (guarded("ftruncate", path_, [&] { return ::ftruncate(descriptor_, static_cast<off_t>(bytes)); }) < 0) {
    throw_write_failure(path_, "ftruncate", 0, bytes, errno);
  }
}

void File::sync() {
  // Interrupted or not, a failed fsync says nothing about which pages reached the disk: one try, EINTR included.
  int error = injected_fault("fsync", path_);
  if (error == 0 && ::fsync(descriptor_) != 0) {
    error = errno;
  }
  if (error != 0) {
    throw_failure(fmt::format("make `{}` durable: what was written may be lost, it must be written anew", path_),
                  "fsync", error);
  }
}

void File::close() {
  if (descriptor_ < 0) {
    return;
  }
  const int fault = injected_fault("close", path_);
  // Linux frees the descriptor whatever close answers, so it is never called twice.
  const int failed = ::close(std::exchange(descriptor_, -1));
  if (const int error = fault != 0 ? fault : failed != 0 ? errno : 0; error != 0 && error != EINTR) {
    throw_failure(fmt::format("close `{}`", path_), "close", error);
  }
}

std::string read_text(const std::string& path) {
  const File file(path, File::Mode::read);
  std::string text(file.size(), '\0');
  file.read_at(0, text.data(), text.size());
  return text;
}

void write_text_atomically(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.new_{}", path, ::getpid());
  try {
    File file(temporary, File::Mode::create);
    file.write_at(0, text.data(), text.size());
    file.sync();
    file.close();
    rename(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(parent_of(path));
}

}  // namespace trireme::io
