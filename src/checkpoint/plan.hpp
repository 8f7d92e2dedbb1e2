// Who writes what where: a pure function of what the ranks hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/index.hpp"

namespace trireme::checkpoint {

/// A rectangle that a rank holds.
struct SourcePiece {
  int rank = 0;
  std::int64_t tensor = 0;
  std::size_t local = 0;  ///< index among that rank's pieces
  Shard rectangle;
};

struct Plan {
  std::vector<TensorInfo> tensors;   ///< by name
  std::vector<SourcePiece> sources;  ///< by rank
  std::vector<StoredPiece> pieces;   ///< by shard, tensor, number
  std::int64_t num_ranks = 1;
  std::int64_t ranks_per_file = 1;  ///< as asked, doubled until no tensor has more than max_pieces_per_tensor
  std::int64_t num_shards = 1;
  std::uint64_t payload_bytes = 0;  ///< of all tensors

  [[nodiscard]] std::int64_t shard_of(int rank) const { return rank / ranks_per_file; }
  /// The rank that writes the shard.
  [[nodiscard]] int writer_of(std::int64_t shard) const { return static_cast<int>(shard * ranks_per_file); }
};

/// What a rank tells the others about its pieces (not their data).
[[nodiscard]] std::string describe(std::span<const Piece> pieces);

/// The plan for the descriptions of all ranks. Throws SystemError naming tensor and ranks when a tensor is not given
/// exactly once, or differently by different ranks.
[[nodiscard]] Plan make_plan(const std::vector<std::string>& descriptions, std::int64_t ranks_per_file);

}  // namespace trireme::checkpoint
