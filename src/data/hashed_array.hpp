// A 1-D contiguous dataset read with plain reads; the hash of each block is checked when the block is first touched.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trireme/base/dtype.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"
#include "trireme/io/hash.hpp"

namespace trireme::data {

class HashedArray {
 public:
  /// Checks type, shape and place of dataset `name` and loads its hashes. `reader` is not kept; `file` is the same
  /// file. Throws InputError naming file and dataset.
  HashedArray(const hdf5::Reader& reader, std::shared_ptr<const io::File> file, std::string name, Dtype dtype,
              std::int64_t num_elements);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::int64_t size() const noexcept { return num_elements_; }

  /// Reads elements [begin, begin + count) as they are stored; any thread may read.
  /// Throws InputError naming file, dataset and position when a block is damaged.
  void read(std::int64_t begin, std::int64_t count, void* out) const;

 private:
  void check_layout(const hdf5::DatasetInfo& info) const;
  void load_hashes(const hdf5::Reader& reader);
  void read_block_part(std::int64_t block, std::int64_t from, std::int64_t to, char* out) const;

  std::shared_ptr<const io::File> file_;
  std::string name_;
  Dtype dtype_;
  std::int64_t num_elements_;
  std::int64_t num_bytes_;
  std::uint64_t offset_;
  std::vector<io::Hash128> hashes_;
  std::unique_ptr<std::atomic<bool>[]> verified_;  ///< one a block
};

}  // namespace trireme::data
