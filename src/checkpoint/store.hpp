// An index with some of its shards open: rectangles and blocks of tensors, with bounded memory.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/index.hpp"
#include "checkpoint/shard_reader.hpp"

namespace trireme::checkpoint {

class Store {
 public:
  Store(std::string folder, Index index);

  [[nodiscard]] const Index& index() const noexcept { return index_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// Index of the tensor of that name, -1 when there is none.
  [[nodiscard]] std::int64_t find(const std::string& name) const;
  /// The pieces of a tensor, as places in index().pieces.
  [[nodiscard]] const std::vector<std::size_t>& pieces_of(std::int64_t tensor) const;
  /// Opened at the first use; the one not used for longest is closed. Valid until the next call.
  [[nodiscard]] const ShardReader& shard(std::int64_t number);

  /// Copies what the stored piece has of the rectangle into its row-major buffer, reading only the tiles it touches.
  void read_part(const StoredPiece& piece, const Shard& rectangle, void* data);
  /// Fills the whole rectangle of the tensor.
  void read(std::int64_t tensor, const Shard& rectangle, void* data);
  /// Visits a tensor tile by tile: the tile's rectangle and its elements, row-major.
  using Visit = std::function<void(const Shard& rectangle, const void* data)>;
  void for_each_tile(std::int64_t tensor, const Visit& visit);
  void for_each_tile(const StoredPiece& piece, const Visit& visit);

 private:
  struct Open {
    std::int64_t number;
    std::unique_ptr<ShardReader> reader;
  };

  std::string folder_;
  Index index_;
  std::vector<std::vector<std::size_t>> pieces_of_tensor_;
  std::deque<Open> open_;  ///< last used first
  std::vector<std::byte> tile_;
  std::vector<std::byte> inner_;
};

}  // namespace trireme::checkpoint
