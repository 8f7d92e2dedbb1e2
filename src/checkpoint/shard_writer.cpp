#include "checkpoint/shard_writer.hpp"

#include <algorithm>
#include <utility>

#include "trireme/io/file.hpp"

#include "checkpoint/extents.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/tiles.hpp"

namespace trireme::checkpoint {
namespace {

constexpr int message_tag = 7101;

}  // namespace

ShardWriter::ShardWriter(comm::Communicator& world, const PlanPart& part, std::span<const Piece> pieces,
                         const SaveMark& mark, const std::string& folder)
    : world_(world),
      part_(part),
      pieces_(pieces),
      mark_(mark),
      path_(folder + "/" + shard_name(part.shard)),
      message_(part.largest_tile()) {
  if (world.rank() != part.writer) return;
  tile_buffer_.resize(message_.size());
  file_ = std::make_unique<hdf5::Writer>(path_);
  file_->attribute("/", "format", std::string(shard_format));
  file_->attribute("/", "version", format_version);
  file_->attribute("/", "save_id", mark.save_id);
  file_->attribute("/", "step", mark.step);
  file_->attribute("/", "shard", part.shard);
}

template <class Work>
void ShardWriter::attempt(Work&& work) {
  if (failure_) return;
  try {
    work();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void ShardWriter::stream() {
  for (const StoredPiece& piece : part_.pieces) stream_piece(piece);
}

void ShardWriter::stream_piece(const StoredPiece& piece) {
  const TensorInfo& tensor = part_.tensor_of(piece);
  const std::size_t element = size_of(tensor.dtype);
  const TileGrid tiles(piece.rectangle, piece.tile);
  const bool is_whole_piece = tiles.count() == 1;
  if (file_ != nullptr) {
    attempt([&] {
      const hdf5::Extents chunk = is_whole_piece ? hdf5::Extents{} : extents_of(piece.tile);
      file_->create(dataset_of(tensor, piece), extents_of(piece.rectangle.extent), tensor.dtype, chunk);
    });
  }
  for (std::int64_t number = 0; number < tiles.count(); ++number) {
    const Shard tile = tiles.padded(number);
    std::fill(tile_buffer_.begin(), tile_buffer_.end(), std::byte{0});
    for (const SourcePiece& source : part_.sources_of(piece)) {
      const auto common = intersect(source.rectangle, tile);
      if (common) move_part(source, *common, tile, element);
    }
    if (file_ != nullptr) attempt([&] { write_tile(piece, tile, is_whole_piece); });
  }
}

void ShardWriter::move_part(const SourcePiece& source, const Shard& part, const Shard& tile, std::size_t element) {
  const std::size_t bytes = static_cast<std::size_t>(part.extent.size()) * element;
  const bool is_mine = source.rank == world_.rank();
  if (is_mine) attempt([&] { io::meet_fault("stream", path_); });
  if (is_mine && file_ != nullptr) {
    copy_rectangle(part, source.rectangle, pieces_[source.local].data, tile, tile_buffer_.data(), element);
  } else if (is_mine) {
    copy_rectangle(part, source.rectangle, pieces_[source.local].data, part, message_.data(), element);
    world_.send(message_.data(), bytes, part_.writer, message_tag)->wait();
  } else {
    world_.receive(message_.data(), bytes, source.rank, message_tag)->wait();
    copy_rectangle(part, part, message_.data(), tile, tile_buffer_.data(), element);
  }
}

void ShardWriter::write_tile(const StoredPiece& piece, const Shard& tile, bool is_whole_piece) {
  const TensorInfo& tensor = part_.tensor_of(piece);
  const std::size_t bytes = static_cast<std::size_t>(piece.tile.size()) * size_of(tensor.dtype);
  hashes_.push_back(hash_tile(mark_.save_id, tensor.name, tensor.shape, tile, tile_buffer_.data(), bytes));
  if (is_whole_piece) {
    file_->write(dataset_of(tensor, piece), tile_buffer_.data());
    return;
  }
  hdf5::Extents place = extents_of(tile.offset);
  for (std::size_t dim = 0; dim < place.size(); ++dim) {
    place[dim] -= static_cast<std::uint64_t>(piece.rectangle.offset[static_cast<int>(dim)]);
  }
  file_->write_chunk(dataset_of(tensor, piece), place, tile_buffer_.data(), bytes);
}

StoredShard ShardWriter::finish() {
  if (failure_) std::rethrow_exception(failure_);
  if (file_ == nullptr) return {};
  if (!hashes_.empty()) {
    file_->create(table_dataset, {hashes_.size(), 2}, Dtype::u64);
    file_->write(table_dataset, hashes_.data());
  }
  const io::Hash128 table_hash = io::hash128(hashes_.data(), hashes_.size() * sizeof(io::Hash128));
  const hdf5::Finished finished = file_->finish();
  return {finished.bytes, finished.metadata_hash, table_hash, static_cast<std::int64_t>(hashes_.size())};
}

}  // namespace trireme::checkpoint
