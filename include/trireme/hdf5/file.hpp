// The one wrapper of the HDF5 library. Every call holds one process-wide lock (the library may not be thread-safe).
//
// Files written here start with a 512-byte user block: magic, version, length of the file, place and hash of a trailer
// that lists the file's metadata extents with the xxh3-128 of their bytes. A reader verifies it before the library sees
// the file, since flipped bits in HDF5 metadata can crash the library. Other programs open the file as plain HDF5.
// src/hdf5/README.md has the layout.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trireme/base/dtype.hpp"
#include "trireme/io/hash.hpp"

namespace trireme::hdf5 {

using Extents = std::vector<std::uint64_t>;

/// A part of a virtual dataset: the whole of `dataset` in `file` (relative to the virtual dataset's own folder) appears
/// at `offset` with `extent`.
struct VirtualSource {
  std::string file;
  std::string dataset;
  Extents offset;
  Extents extent;
};

/// What finish() says about the file.
struct Finished {
  std::uint64_t bytes = 0;
  io::Hash128 metadata_hash;  ///< of user block and trailer: names the file's whole metadata
};

/// A new HDF5 file, written through the sink driver: writes go to io::File, the first error is kept, later writes are
/// swallowed, so the library never sees a failing write; finish() throws what was kept.
class Writer {
 public:
  /// Creates (truncates) the file.
  explicit Writer(const std::string& path);
  /// Without finish() the file is abandoned as it is.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Groups on the way to `path` are made as needed by every call.
  void make_group(const std::string& path);
  /// Attributes of the group or dataset `path` ("/" is the root; a group that is not there yet is made). A string is
  /// stored as fixed-length UTF-8; long texts (above 32 KiB) belong in a dataset: see write_bytes.
  void attribute(const std::string& path, const std::string& name, const std::string& value);
  void attribute(const std::string& path, const std::string& name, std::int64_t value);
  void attribute(const std::string& path, const std::string& name, double value);

  /// Creates a dataset; chunk empty: contiguous. No filters, no fill. No extents: a scalar. A chunk is no longer than
  /// the dataset in any dimension; a dataset without elements is contiguous.
  void create(const std::string& path, const Extents& extents, Dtype dtype, const Extents& chunk = {});
  /// Writes the whole contiguous dataset.
  void write(const std::string& path, const void* data);
  /// Writes elements [begin, begin + count) of a 1-D contiguous dataset.
  void write_range(const std::string& path, std::uint64_t begin, std::uint64_t count, const void* data);
  /// Writes one whole chunk as it lies on disk (edge chunks padded by the caller); offset: of its first element.
  void write_chunk(const std::string& path, const Extents& offset, const void* data, std::size_t bytes);
  /// create() and write() of a 1-D array of bytes.
  void write_bytes(const std::string& path, const std::string& bytes);
  /// A virtual dataset (one dimension or more) with fill value NaN (0 for integers) out of sources.
  void create_virtual(const std::string& path, const Extents& extents, Dtype dtype,
                      const std::vector<VirtualSource>& sources);
  /// A soft link: `path` is another name of `target`, both absolute.
  void link(const std::string& target, const std::string& path);

  /// Closes the library's file, writes trailer and user block, fsyncs, closes. Throws SystemError with the first error
  /// of any write. Nothing is valid after it.
  Finished finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a dataset is; from untrusted files, so check before allocating.
struct DatasetInfo {
  Extents extents;
  Dtype dtype = Dtype::f32;
  Extents chunk;             ///< empty: not chunked
  std::uint64_t offset = 0;  ///< byte offset in the file of contiguous data (0 when chunked or virtual)
};

/// A file opened for reading. Throws InputError naming the file and what is wrong with it.
class Reader {
 public:
  enum class Verify : std::uint8_t { user_block, none };
  /// Verify::none opens plain HDF5 files of other programs.
  explicit Reader(const std::string& path, Verify verify = Verify::user_block);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] const std::string& path() const noexcept;
  /// Of the verified user block and trailer (as Finished::metadata_hash).
  [[nodiscard]] io::Hash128 metadata_hash() const noexcept;
  /// Soft and external links count as absent everywhere. What lies in other files is read through virtual datasets
  /// only.
  [[nodiscard]] bool has(const std::string& path) const;
  /// Names of the members of a group, in name order.
  [[nodiscard]] std::vector<std::string> list(const std::string& group) const;
  /// Paths of all datasets under a group, depth first in name order.
  [[nodiscard]] std::vector<std::string> datasets(const std::string& group) const;

  [[nodiscard]] bool has_attribute(const std::string& path, const std::string& name) const;
  [[nodiscard]] std::string text_attribute(const std::string& path, const std::string& name) const;
  [[nodiscard]] std::int64_t integer_attribute(const std::string& path, const std::string& name) const;
  [[nodiscard]] double real_attribute(const std::string& path, const std::string& name) const;

  [[nodiscard]] DatasetInfo info(const std::string& path) const;
  /// Reads the whole dataset; the dtype must be the stored one (else InputError), data large enough.
  void read(const std::string& path, Dtype dtype, void* data) const;
  /// Reads a rectangle.
  void read_rectangle(const std::string& path, Dtype dtype, const Extents& offset, const Extents& extent,
                      void* data) const;
  /// Reads one whole chunk as it lies on disk; `bytes` is the chunk's full size. A chunk never written is an
  /// InputError.
  void read_chunk(const std::string& path, const Extents& offset, void* data, std::size_t bytes) const;
  [[nodiscard]] std::string read_bytes(const std::string& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Checks magic, length and metadata hash without the HDF5 library. Throws InputError.
io::Hash128 verify_user_block(const std::string& path);

/// Objects that the library holds open in this process (files, datasets, ...): 0 when nothing leaks.
[[nodiscard]] std::int64_t open_objects();

[[nodiscard]] std::string library_version();

}  // namespace trireme::hdf5
