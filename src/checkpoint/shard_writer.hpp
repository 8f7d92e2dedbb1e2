// Writes one shard: the ranks of its group send their parts tile by tile to the group's writer.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/hdf5/file.hpp"

#include "checkpoint/plan.hpp"

namespace trireme::checkpoint {

/// What stands in every file of one checkpoint.
struct SaveMark {
  std::string save_id;
  std::int64_t step = 0;
};

/// The part of this rank in the writing of its group's shard. Memory: one tile for the file, one for a message, and the
/// table of hashes.
class ShardWriter {
 public:
  /// Opens the file on the group's writer. No communication; throws SystemError.
  ShardWriter(comm::Communicator& world, const PlanPart& part, std::span<const Piece> pieces, const SaveMark& mark,
              const std::string& folder);
  /// Moves the group's pieces into the file. Collective over the group. A failure of this rank is kept for finish() and
  /// the messages go on, so that no rank of the group is left waiting; only a CommunicationError is thrown.
  void stream();
  /// Writes the table of hashes and makes the file durable; all zero on ranks that do not write. Throws what failed in
  /// stream(), or SystemError.
  StoredShard finish();

 private:
  void stream_piece(const StoredPiece& piece);
  void move_part(const SourcePiece& source, const Shard& part, const Shard& tile, std::size_t element);
  void write_tile(const StoredPiece& piece, const Shard& tile, bool is_whole_piece);
  /// Runs work unless something failed before.
  template <class Work>
  void attempt(Work&& work);

  comm::Communicator& world_;
  const PlanPart& part_;
  std::span<const Piece> pieces_;
  SaveMark mark_;
  std::string path_;
  std::vector<std::byte> tile_buffer_;
  std::vector<std::byte> message_;
  std::vector<io::Hash128> hashes_;
  std::unique_ptr<hdf5::Writer> file_;  ///< on the writer only
  std::exception_ptr failure_;
};

}  // namespace trireme::checkpoint
