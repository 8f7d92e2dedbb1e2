// Names rather than bytes: folders, renames, removals.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "trireme/io/file.hpp"

#include "io/failure.hpp"
#include "io/fault.hpp"

namespace trireme::io {
namespace {

/// Nothing when there is no such entry. A file system that cannot answer is an error, not an absence.
std::optional<struct stat> status_of(const std::string& path, bool follow_links) {
  struct stat status {};
  const auto ask = [&] { return follow_links ? ::stat(path.c_str(), &status) : ::lstat(path.c_str(), &status); };
  if (guarded("stat", path, ask) == 0) {
    return status;
  }
  if (errno != ENOENT && errno != ENOTDIR) {
    throw_failure(fmt::format("look at `{}`", path), "stat", errno);
  }
  return std::nullopt;
}

void remove_entry(const std::string& path, const char* call, int (*function)(const char*)) {
  if (guarded(call, path, [&] { return function(path.c_str()); }) < 0 && errno != ENOENT) {
    throw_failure(fmt::format("remove `{}`", path), call, errno);
  }
}

}  // namespace

bool exists(const std::string& path) {
  return status_of(path, true).has_value();
}

bool is_folder(const std::string& path) {
  const auto status = status_of(path, true);
  return status && S_ISDIR(status->st_mode);
}

bool is_real_folder(const std::string& path) {
  const auto status = status_of(path, false);
  return status && S_ISDIR(status->st_mode);
}

std::string parent_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = end == std::string::npos ? 0 : path.find_last_of('/', end);
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool make_folder(const std::string& path) {
  if (guarded("mkdir", path, [&] { return ::mkdir(path.c_str(), 0777); }) == 0) {
    return true;
  }
  if (errno != EEXIST) {
    throw_failure(fmt::format("make the folder `{}`", path), "mkdir", errno);
  }
  return false;
}

void make_folders(const std::string& path) {
  // Asked first: a read-only parent may answer EROFS for a folder that is there.
  if (is_folder(path)) {
    return;
  }
  if (const std::string parent = parent_of(path); parent != path && parent != "." && parent != "/") {
    make_folders(parent);
  }
  if (!make_folder(path) && !is_folder(path)) {
    throw_failure(fmt::format("make the folder `{}`: a file of that name is there", path), "mkdir", EEXIST);
  }
}

void rename(const std::string& from, const std::string& to) {
  if (guarded("rename", from + " -> " + to, [&] { return std::rename(from.c_str(), to.c_str()); }) < 0) {
    throw_failure(fmt::format("rename `{}` to `{}`", from, to), "rename", errno);
  }
}

void remove_file(const std::string& path) {
  remove_entry(path, "unlink", ::unlink);
}

void remove_tree(const std::string& path) {
  const auto status = status_of(path, false);  // a link is removed, never followed
  if (!status) {
    return;
  }
  if (!S_ISDIR(status->st_mode)) {
    remove_file(path);
    return;
  }
  for (const std::string& name : list_folder(path)) {
    remove_tree(path + "/" + name);
  }
  remove_entry(path, "rmdir", ::rmdir);
}

std::vector<std::string> list_folder(const std::string& path) {
  const int fault = injected_fault("opendir", path);
  DIR* folder = fault == 0 ? ::opendir(path.c_str()) : nullptr;
  if (folder == nullptr) {
    const int error = fault != 0 ? fault : errno;
    if (error == ENOENT) {
      return {};
    }
    throw_failure(fmt::format("list the folder `{}`", path), "opendir", error);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      names.push_back(name);
    }
    errno = 0;
  }
  const int error = errno;
  ::closedir(folder);
  if (error != 0) {
    throw_failure(fmt::format("list the folder `{}`", path), "readdir", error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void sync_folder(const std::string& path) {
  const int descriptor =
      guarded("open", path, [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) {
    throw_failure(fmt::format("open the folder `{}`", path), "open", errno);
  }
  int error = injected_fault("fsync", path);
  if (error == 0 && ::fsync(descriptor) != 0) {
    error = errno;
  }
  ::close(descriptor);
  if (error != 0 && error != EINVAL) {
    throw_failure(fmt::format("make the entries of `{}` durable", path), "fsync", error);
  }
}

std::uint64_t free_bytes(const std::string& path) {
  struct statvfs space {};
  const std::string place = exists(path) ? path : parent_of(path);
  if (guarded("statvfs", place, [&] { return ::statvfs(place.c_str(), &space); }) < 0) {
    throw_failure(fmt::format("ask for the free space at `{}`", place), "statvfs", errno);
  }
  return std::uint64_t{space.f_bavail} * space.f_frsize;
}

}  // namespace trireme::io
