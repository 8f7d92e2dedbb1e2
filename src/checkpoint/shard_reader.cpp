#include "checkpoint/shard_reader.hpp"

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/extents.hpp"
#include "checkpoint/folder.hpp"

namespace trireme::checkpoint {
namespace {

/// The path, once the file is there in full: the cheapest check comes first.
std::string path_of_size(const std::string& path, std::uint64_t bytes) {
  if (!io::exists(path)) throw InputError(fmt::format("`{}` is missing", path));
  const std::uint64_t found = io::File(path, io::File::Mode::read).size();
  if (found != bytes) {
    throw InputError(fmt::format("`{}` is damaged ({} bytes instead of {})", path, found, bytes));
  }
  return path;
}

}  // namespace

ShardReader::ShardReader(const std::string& folder, const Index& index, std::int64_t shard)
    : index_(index),
      shard_(shard),
      file_(path_of_size(folder + "/" + shard_name(shard), index.shards[static_cast<std::size_t>(shard)].bytes)) {
  check_marks();
  read_table();
}

void ShardReader::check_marks() const {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("`{}` does not belong to this checkpoint ({})", file_.path(), why));
  };
  if (file_.text_attribute("/", "format") != shard_format) refuse("it is no shard");
  if (const auto step = file_.integer_attribute("/", "step"); step != index_.metadata.step) {
    refuse(fmt::format("it is of step {}, the index of step {}", step, index_.metadata.step));
  }
  if (file_.text_attribute("/", "save_id") != index_.save_id) refuse("it is of another save");
  if (file_.integer_attribute("/", "shard") != shard_) refuse("it is another shard");
  if (file_.metadata_hash() != index_.shards[static_cast<std::size_t>(shard_)].metadata_hash) {
    refuse("the hash of its metadata is not the one of the index");
  }
}

void ShardReader::read_table() {
  const StoredShard& expected = index_.shards[static_cast<std::size_t>(shard_)];
  const auto num_tiles = static_cast<std::uint64_t>(expected.num_tiles);
  if (num_tiles > 0) {
    const hdf5::DatasetInfo info = file_.info(table_dataset);
    if (info.extents != hdf5::Extents{num_tiles, 2} || info.dtype != Dtype::u64) {
      throw InputError(
          fmt::format("`{}` is damaged (its table of hashes is not of {} tiles)", file_.path(), num_tiles));
    }
    hashes_.resize(num_tiles);
    file_.read(table_dataset, Dtype::u64, hashes_.data());
  }
  if (io::hash128(hashes_.data(), hashes_.size() * sizeof(io::Hash128)) != expected.table_hash) {
    throw InputError(fmt::format("`{}` is damaged (its table of hashes is not the one that was saved)", file_.path()));
  }
}

void ShardReader::check_dataset(const StoredPiece& piece) const {
  if (checked_piece_ == piece.first_tile) return;
  const TensorInfo& tensor = index_.tensor_of(piece);
  const hdf5::DatasetInfo info = file_.info(dataset_of(tensor, piece));
  // A place in the file: neither a virtual dataset, which may show other files, nor one that was never written.
  const bool is_contiguous = info.chunk.empty() && info.offset != 0;
  const bool is_one_tile = piece.tile == piece.rectangle.extent;
  if (info.extents != extents_of(piece.rectangle.extent) || info.dtype != tensor.dtype ||
      !(is_one_tile ? is_contiguous : info.chunk == extents_of(piece.tile))) {
    throw InputError(fmt::format("`{}` is damaged (dataset `{}` is not what the index says)", file_.path(),
                                 dataset_of(tensor, piece)));
  }
  checked_piece_ = piece.first_tile;
}

void ShardReader::read_tile(const StoredPiece& piece, std::int64_t number, std::vector<std::byte>& buffer) const {
  const TensorInfo& tensor = index_.tensor_of(piece);
  const std::string dataset = dataset_of(tensor, piece);
  const TileGrid tiles(piece.rectangle, piece.tile);
  const Shard tile = tiles.padded(number);
  check_dataset(piece);
  buffer.resize(static_cast<std::size_t>(piece.tile.size()) * size_of(tensor.dtype));
  if (tiles.count() == 1) {
    file_.read(dataset, tensor.dtype, buffer.data());
  } else {
    hdf5::Extents place = extents_of(tile.offset);
    for (std::size_t dim = 0; dim < place.size(); ++dim) {
      place[dim] -= static_cast<std::uint64_t>(piece.rectangle.offset[static_cast<int>(dim)]);
    }
    file_.read_chunk(dataset, place, buffer.data(), buffer.size());
  }
  const io::Hash128 hash = hash_tile(index_.save_id, tensor.name, tensor.shape, tile, buffer.data(), buffer.size());
  if (hash != hashes_[static_cast<std::size_t>(piece.first_tile + number)]) {
    throw InputError(fmt::format("`{}`: tensor `{}` is damaged (the hash of {} differs)", file_.path(), tensor.name,
                                 text_of(tiles.inner(number))));
  }
}

}  // namespace trireme::checkpoint
