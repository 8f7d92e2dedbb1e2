// The first 512 bytes of a file and its trailer: what lets a reader judge the file before the HDF5 library sees it.
// README.md has the layout byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/io/file.hpp"
#include "trireme/io/hash.hpp"

namespace trireme::hdf5 {

inline constexpr std::uint64_t user_block_bytes = 512;

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Writes trailer and user block of a file whose HDF5 part ends at `end`; `extents` (in order, apart from each other)
/// hold the metadata, whose bytes hash to `metadata`. Returns the hash of both and sets the length of the whole file.
io::Hash128 write_user_block(io::File& file, std::uint64_t end, const std::vector<Extent>& extents,
                             const io::Hash128& metadata, std::uint64_t& file_bytes);

}  // namespace trireme::hdf5
