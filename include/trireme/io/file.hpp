// POSIX files: every open, read, write, fsync, rename and unlink of the program goes through here (but those of log.txt
// and of the kernel's files in /proc), so every fault can be injected here. Errors throw SystemError naming path, call,
// errno's words and what was being done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trireme::io {

/// Points where a test injects faults. The hook gets call name ("open", "pwrite", "fsync", "rename", "mkdir", "unlink",
/// "pread", "close", ...) and path; it may return an errno to make the call fail with it (0: go on), cut a write short
/// by lowering *bytes, sleep, or end the process; for "rename" the path is "FROM -> TO". Empty by default. The
/// environment variable TRIREME_FAULT does the same to the real executable (src/io/README.md).
using FaultHook = std::function<int(const char* call, const std::string& path, std::size_t* bytes)>;
void set_fault_hook(FaultHook hook);

/// A point that is no system call but where a test may want a failure too: asks the hook and TRIREME_FAULT for `call`
/// on `path`, and throws SystemError when they say so.
void meet_fault(const char* call, const std::string& path);

/// A file opened for reading or for writing (create: emptied, readable too); a file to be read that is not there or not
/// readable is an InputError. No call moves more than 1 GiB (TRIREME_MAX_IO_BYTES lowers it). Closed at destruction
/// (close() reports, the destructor does not).
class File {
 public:
  enum class Mode : std::uint8_t { read, create, append, read_write };
  File(std::string path, Mode mode);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const;
  /// Reads exactly `bytes`; a short file is an InputError naming path, offset, wanted and had. Retries EINTR and short
  /// reads.
  void read_at(std::uint64_t offset, void* data, std::size_t bytes) const;
  /// Writes all; retries EINTR and short writes. ENOSPC's message gives path, bytes needed and free.
  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);
  /// Appends (Mode::append).
  void write(const void* data, std::size_t bytes);
  void truncate(std::uint64_t bytes);
  /// Never retried: after a failed fsync the kernel may have dropped the data, the file must be written anew.
  void sync();
  void close();

 private:
  std::string path_;
  int descriptor_ = -1;
};

[[nodiscard]] std::string read_text(const std::string& path);
/// Writes a temporary beside the target, syncs, renames: the target is old or new, never cut.
void write_text_atomically(const std::string& path, const std::string& text);

/// False only when there is no such entry; a file system that cannot answer is a SystemError.
[[nodiscard]] bool exists(const std::string& path);
[[nodiscard]] bool is_folder(const std::string& path);
/// The same for a folder itself, not a symbolic link to one.
[[nodiscard]] bool is_real_folder(const std::string& path);
/// The folder that `path` lies in, slashes at its end apart; `.` when it names none.
[[nodiscard]] std::string parent_of(const std::string& path);
/// False if it was there already (the atomic test that the lock rests on).
bool make_folder(const std::string& path);
void make_folders(const std::string& path);
void rename(const std::string& from, const std::string& to);
/// Nothing to remove is no error; links are removed, not followed.
void remove_file(const std::string& path);
void remove_tree(const std::string& path);
/// Names of the entries, sorted as text; empty when the folder does not exist.
[[nodiscard]] std::vector<std::string> list_folder(const std::string& path);
/// fsync of a folder; EINVAL (file systems without it) is accepted.
void sync_folder(const std::string& path);
/// Bytes that an unprivileged writer still has on the file system of path.
[[nodiscard]] std::uint64_t free_bytes(const std::string& path);

}  // namespace trireme::io
