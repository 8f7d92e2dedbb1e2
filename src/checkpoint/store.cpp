#include "checkpoint/store.hpp"

#include <algorithm>
#include <utility>

namespace trireme::checkpoint {
namespace {

constexpr std::size_t max_open_shards = 8;

}  // namespace

Store::Store(std::string folder, Index index)
    : folder_(std::move(folder)), index_(std::move(index)), pieces_of_tensor_(index_.tensors.size()) {
  for (std::size_t i = 0; i < index_.pieces.size(); ++i) {
    pieces_of_tensor_[static_cast<std::size_t>(index_.pieces[i].tensor)].push_back(i);
  }
}

std::int64_t Store::find(const std::string& name) const {
  const auto found =
      std::lower_bound(index_.tensors.begin(), index_.tensors.end(), name,
                       [](const TensorInfo& tensor, const std::string& key) { return tensor.name < key; });
  return found != index_.tensors.end() && found->name == name ? found - index_.tensors.begin() : -1;
}

const std::vector<std::size_t>& Store::pieces_of(std::int64_t tensor) const {
  return pieces_of_tensor_[static_cast<std::size_t>(tensor)];
}

const ShardReader& Store::shard(std::int64_t number) {
  const auto found =
      std::find_if(open_.begin(), open_.end(), [number](const Open& open) { return open.number == number; });
  if (found == open_.end()) {
    auto reader = std::make_unique<ShardReader>(folder_, index_, number);
    if (open_.size() == max_open_shards) open_.pop_back();
    open_.push_front({number, std::move(reader)});
  } else {
    std::rotate(open_.begin(), found, found + 1);
  }
  return *open_.front().reader;
}

void Store::read_part(const StoredPiece& piece, const Shard& rectangle, void* data) {
  const TileGrid tiles(piece.rectangle, piece.tile);
  for (const std::int64_t number : tiles.touching(rectangle)) {
    shard(piece.shard).read_tile(piece, number, tile_);
    const auto part = intersect(rectangle, tiles.inner(number));
    copy_rectangle(*part, tiles.padded(number), tile_.data(), rectangle, data, size_of(index_.tensor_of(piece).dtype));
  }
}

void Store::read(std::int64_t tensor, const Shard& rectangle, void* data) {
  for (const std::size_t i : pieces_of(tensor)) read_part(index_.pieces[i], rectangle, data);
}

void Store::for_each_tile(const StoredPiece& piece, const Visit& visit) {
  const std::size_t element = size_of(index_.tensor_of(piece).dtype);
  const TileGrid tiles(piece.rectangle, piece.tile);
  for (std::int64_t number = 0; number < tiles.count(); ++number) {
    const Shard inner = tiles.inner(number);
    shard(piece.shard).read_tile(piece, number, tile_);
    inner_.resize(static_cast<std::size_t>(inner.extent.size()) * element);
    copy_rectangle(inner, tiles.padded(number), tile_.data(), inner, inner_.data(), element);
    visit(inner, inner_.data());
  }
}

void Store::for_each_tile(std::int64_t tensor, const Visit& visit) {
  for (const std::size_t i : pieces_of(tensor)) for_each_tile(index_.pieces[i], visit);
}

}  // namespace trireme::checkpoint
