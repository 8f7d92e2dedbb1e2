// One shard opened for reading: it is what the index says, and every tile that leaves it has the hash of its table.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/hdf5/file.hpp"

#include "checkpoint/index.hpp"
#include "checkpoint/tiles.hpp"

namespace trireme::checkpoint {

class ShardReader {
 public:
  /// Checks size, metadata hash, save id, step, and the table of hashes. Throws InputError naming the file.
  ShardReader(const std::string& folder, const Index& index, std::int64_t shard);

  /// Reads one tile of a piece of this shard as it lies on disk, into `buffer` (resized). Throws InputError naming file
  /// and tensor when the tile is not what was saved.
  void read_tile(const StoredPiece& piece, std::int64_t number, std::vector<std::byte>& buffer) const;

 private:
  void check_marks() const;
  void read_table();
  void check_dataset(const StoredPiece& piece) const;

  const Index& index_;
  std::int64_t shard_;
  hdf5::Reader file_;
  std::vector<io::Hash128> hashes_;
  mutable std::int64_t checked_piece_ = -1;  ///< first tile of the piece whose dataset was checked last
};

}  // namespace trireme::checkpoint
