// Who writes what where: a pure function of what the ranks hold. Only rank 0 knows the whole plan.
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
  std::vector<SourcePiece> sources;  ///< by rank, then local
  std::vector<StoredPiece> pieces;   ///< by shard, tensor, number
  /// Ranks, or hosts, that share a file: as asked, doubled until no tensor has more than max_pieces_per_tensor.
  std::int64_t units_per_file = 1;
  std::vector<std::vector<int>> groups;  ///< the ranks of each shard, ascending; shards ordered by their lowest rank
  std::vector<std::int64_t> shard_of_rank;
  std::uint64_t payload_bytes = 0;  ///< of all tensors

  [[nodiscard]] std::int64_t num_ranks() const { return static_cast<std::int64_t>(shard_of_rank.size()); }
  [[nodiscard]] std::int64_t num_shards() const { return static_cast<std::int64_t>(groups.size()); }
  [[nodiscard]] std::int64_t shard_of(int rank) const { return shard_of_rank[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<int>& group_of(std::int64_t shard) const {
    return groups[static_cast<std::size_t>(shard)];
  }
  /// The rank that writes the shard. On a data axis whose ranks hold their pieces in the order of reversed bits, the
  /// lowest ranks of all groups would be those of the first hosts; this one is another from group to group.
  [[nodiscard]] int writer_of(std::int64_t shard) const;
};

/// What one rank must know of a plan: on the writer of a shard all of that shard, on the others of its group only where
/// their own rectangles go. Rows are in the order of the plan, so that a writer receives in the order of sending.
struct PlanPart {
  std::int64_t shard = 0;
  int writer = 0;
  std::int64_t num_shards = 1;       ///< of the whole checkpoint
  std::uint64_t payload_bytes = 0;   ///< of the whole checkpoint
  std::vector<TensorInfo> tensors;   ///< those of the rows below
  std::vector<SourcePiece> sources;  ///< by tensor, then rank
  std::vector<StoredPiece> pieces;   ///< by tensor, then number; first_tile is not set

  [[nodiscard]] const TensorInfo& tensor_of(const StoredPiece& piece) const {
    return tensors[static_cast<std::size_t>(piece.tensor)];
  }
  /// Bytes of the largest tile.
  [[nodiscard]] std::size_t largest_tile() const;
  /// The rectangles in memory that may have something of the piece.
  [[nodiscard]] std::span<const SourcePiece> sources_of(const StoredPiece& piece) const;
};

/// The part of a rank; its cost is that of the part, not of the plan.
[[nodiscard]] PlanPart part_of(const Plan& plan, int rank);

/// A part on the wire.
[[nodiscard]] std::string text_of(const PlanPart& part);
[[nodiscard]] PlanPart parse_part(const std::string& text);

/// What a rank tells rank 0 about its pieces (not their data).
[[nodiscard]] std::string describe(std::span<const Piece> pieces);

/// The plan for the descriptions of all ranks. Throws SystemError naming tensor and ranks when a tensor is not given
/// exactly once, or differently by different ranks. hosts: comm::host_leaders(), needed for ranks_of_a_node only.
[[nodiscard]] Plan make_plan(const std::vector<std::string>& descriptions, std::int64_t ranks_per_file,
                             const std::vector<std::int32_t>& hosts = {});

}  // namespace trireme::checkpoint
