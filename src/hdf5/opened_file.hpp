// A file of a stranger, opened by the library: what is in it, checked before anyone relies on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hdf5.h>

#include "trireme/hdf5/file.hpp"

#include "hdf5/library.hpp"

namespace trireme::hdf5 {

/// `[2, 3]`.
[[nodiscard]] std::string shape_text(const Extents& extents);

/// start times all extents, or nothing when that does not fit.
[[nodiscard]] std::optional<std::uint64_t> product(const Extents& extents, std::uint64_t start = 1);

/// Names of objects are whole paths. Everything throws InputError. The caller holds the LibraryLock.
class OpenedFile {
 public:
  explicit OpenedFile(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// How messages call an object: `name` in `path`.
  [[nodiscard]] std::string called(const std::string& object) const;

  /// True when every link on the way is a hard one: links to other places of this or other files are not followed.
  [[nodiscard]] bool has(const std::string& object) const;
  [[nodiscard]] Handle open_object(const std::string& object) const;
  [[nodiscard]] Handle open_dataset(const std::string& object) const;
  [[nodiscard]] std::vector<std::string> list(const std::string& group) const;
  [[nodiscard]] std::vector<std::string> datasets(const std::string& group) const;
  [[nodiscard]] DatasetInfo info(hid_t dataset, const std::string& object) const;

 private:
  [[nodiscard]] Handle open_kind(const std::string& object, H5I_type_t kind, const char* kind_name) const;
  void collect_datasets(const std::string& group, int depth, std::size_t& seen, std::vector<std::string>& found) const;
  [[nodiscard]] Extents extents_of(hid_t dataset, const std::string& object) const;
  [[nodiscard]] Dtype dtype_of(hid_t dataset, const std::string& object) const;
  [[nodiscard]] Extents chunk_of(hid_t list, std::size_t rank, const std::string& object) const;
  [[nodiscard]] std::uint64_t offset_of(hid_t dataset, hid_t list, std::uint64_t bytes,
                                        const std::string& object) const;

  std::string path_;
  std::uint64_t bytes_ = 0;
  Handle file_;
};

}  // namespace trireme::hdf5
