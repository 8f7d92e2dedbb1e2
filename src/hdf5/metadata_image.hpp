// The metadata of a file being written, kept in memory until the file is finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace trireme::hdf5 {

/// Bytes at addresses. Later writes replace earlier ones; a region given to raw data is taken out again.
class MetadataImage {
 public:
  using Blocks = std::map<std::uint64_t, std::vector<char>>;

  void put(std::uint64_t address, const void* data, std::size_t bytes);
  /// Forgets what lies in [address, address + bytes).
  void cut(std::uint64_t address, std::uint64_t bytes);
  /// Copies what is known of [address, address + bytes) over `data`; leaves the rest of it as it is.
  void get(std::uint64_t address, void* data, std::size_t bytes) const;
  /// In order of address, without overlap; neighbours may touch.
  [[nodiscard]] const Blocks& blocks() const noexcept { return blocks_; }

 private:
  /// The first block that ends beyond the address.
  [[nodiscard]] Blocks::const_iterator first_beyond(std::uint64_t address) const;
  Blocks blocks_;
};

}  // namespace trireme::hdf5
