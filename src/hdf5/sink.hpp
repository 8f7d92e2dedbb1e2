// Where the bytes of a new HDF5 file go: what stands between the library and the disk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "hdf5/metadata_image.hpp"

namespace trireme::hdf5 {

/// Raw data goes to the file at once, metadata stays in memory until finish(). The first error is kept and later raw
/// data swallowed, so that the library, which cannot live with a failing write, never sees one; reads of metadata go
/// on.
class Sink {
 public:
  /// Creates (truncates) the file; throws as io::File does.
  explicit Sink(const std::string& path) : file_(path, io::File::Mode::create) {}

  void write_metadata(std::uint64_t address, const void* data, std::size_t bytes) noexcept;
  void write_raw(std::uint64_t address, const void* data, std::size_t bytes) noexcept;
  /// What was written; zeros where nothing was (or where it was swallowed).
  void read(std::uint64_t address, void* data, std::size_t bytes) noexcept;
  /// Makes the file reach at least `end`: space given to data that was never written belongs to it too.
  void extend_to(std::uint64_t end) noexcept { end_ = std::max(end_, end); }
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

  /// Writes metadata, trailer and user block, makes the file durable, closes it; or throws the first error of any
  /// write.
  Finished finish();

 private:
  io::File file_;
  MetadataImage metadata_;
  std::uint64_t end_ = 0;
  std::exception_ptr first_error_;
};

}  // namespace trireme::hdf5
