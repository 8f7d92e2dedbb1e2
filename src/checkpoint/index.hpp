// What index.h5 says: the tensors, where their pieces lie, and what each shard file must be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/io/hash.hpp"

#include "checkpoint/rectangle.hpp"

namespace trireme::checkpoint {

inline constexpr const char* index_format = "trireme checkpoint";
inline constexpr const char* shard_format = "trireme checkpoint shard";
inline constexpr std::int64_t format_version = 1;
/// Dataset of a shard that holds the hashes of its tiles.
inline constexpr const char* table_dataset = "/table/hashes";
/// Sources of one virtual dataset: other programs get slow with many.
inline constexpr std::size_t max_pieces_per_tensor = 64;

/// A rectangle of a tensor as one dataset of a shard.
struct StoredPiece {
  std::int64_t tensor = 0;  ///< index of the tensor
  std::int64_t shard = 0;
  std::int64_t number = 0;  ///< of the tensor's pieces in this shard: the dataset is `<tensor name>/<number>`
  Shard rectangle;
  Shape tile;                   ///< extent of a tile; the whole rectangle when it is stored contiguous
  std::int64_t first_tile = 0;  ///< row of its first tile in the shard's table of hashes
};

/// What a shard file must be.
struct StoredShard {
  std::uint64_t bytes = 0;
  io::Hash128 metadata_hash;
  io::Hash128 table_hash;  ///< of the bytes of the table of tile hashes
  std::int64_t num_tiles = 0;
};

struct Index {
  Metadata metadata;
  std::string save_id;  ///< 32 hexadecimal digits, random, in every file of the checkpoint
  std::int64_t written_unix_s = 0;
  std::uint64_t index_bytes = 0;    ///< size of index.h5 itself, once read
  std::vector<TensorInfo> tensors;  ///< by name
  std::vector<StoredPiece> pieces;  ///< by shard, tensor, number
  std::vector<StoredShard> shards;

  [[nodiscard]] const TensorInfo& tensor_of(const StoredPiece& piece) const {
    return tensors[static_cast<std::size_t>(piece.tensor)];
  }
  /// Bytes of all files.
  [[nodiscard]] std::uint64_t total_bytes() const;
};

/// The piece's dataset in its shard: `/weights/x/0`.
[[nodiscard]] std::string dataset_of(const TensorInfo& tensor, const StoredPiece& piece);

/// Empty when tensors of this name and shape can be stored, else why not.
[[nodiscard]] std::string tensor_problem(const TensorInfo& tensor);

/// The three tables as text.
struct Tables {
  std::string tensors;
  std::string pieces;
  std::string shards;
};
[[nodiscard]] Tables tables_of(const Index& index);

/// Fills tensors, pieces and shards; the tables may come from a stranger: every number is checked, nothing large is
/// allocated before. Throws InputError.
void parse_tables(const Tables& tables, Index& index);

/// Fills in first_tile of every piece; returns the tiles of each shard.
std::vector<std::int64_t> number_tiles(std::vector<StoredPiece>& pieces, std::size_t num_shards);

/// Writes index.h5.
hdf5::Finished write_index(const std::string& path, const Index& index);

/// Reads and checks the index.h5 of a step folder. Throws InputError naming the file.
[[nodiscard]] Index read_index(const std::string& folder);

/// Gives rank 0's index to all ranks. Collective.
void broadcast(comm::Communicator& world, Index& index);

}  // namespace trireme::checkpoint
