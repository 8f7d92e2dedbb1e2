// Tiles: the blocks of about 1 MiB that a stored piece is written, hashed and read in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/base/dtype.hpp"
#include "trireme/io/hash.hpp"

#include "checkpoint/rectangle.hpp"

namespace trireme::checkpoint {

inline constexpr std::int64_t tile_bytes = std::int64_t{1} << 20;
/// Rows longer than this are cut, so that a split by columns reads little more than it needs.
inline constexpr std::int64_t tile_columns = 512;

/// The tile of a piece: the piece itself up to tile_bytes, else cut as evenly as may be (edge tiles stick out by less
/// than one row or column per tile).
[[nodiscard]] Shape tile_extent(const Shape& piece_extent, Dtype dtype);

/// The tiles of a piece, numbered row-major.
class TileGrid {
 public:
  TileGrid(const Shard& piece, const Shape& tile);
  [[nodiscard]] std::int64_t count() const { return counts_.size(); }
  /// As it lies on disk, in global coordinates: may stick out of the piece at its edges.
  [[nodiscard]] Shard padded(std::int64_t number) const;
  /// The part of the tile that belongs to the piece.
  [[nodiscard]] Shard inner(std::int64_t number) const;
  /// Numbers of the tiles that hold elements of the rectangle, ascending.
  [[nodiscard]] std::vector<std::int64_t> touching(const Shard& rectangle) const;

 private:
  Shard piece_;
  Shape tile_;
  Shape counts_;
};

/// The hash of a tile, over save id, tensor name, a zero byte, the row-major index of the tile's first element in the
/// whole tensor (8 bytes, little-endian), and the tile's bytes as they lie on disk.
[[nodiscard]] io::Hash128 hash_tile(const std::string& save_id, const std::string& tensor, const Shape& tensor_shape,
                                    const Shard& padded, const void* data, std::size_t bytes);

}  // namespace trireme::checkpoint
