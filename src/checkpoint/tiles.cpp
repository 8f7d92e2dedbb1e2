#include "checkpoint/tiles.hpp"

#include <algorithm>
#include <bit>

namespace trireme::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers in files are little-endian");

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Shape tile_extent(const Shape& piece_extent, Dtype dtype) {
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  if (piece_extent.size() * element_bytes <= tile_bytes) return piece_extent;
  std::int64_t budget = tile_bytes / element_bytes;
  Shape tile = piece_extent;
  const int last = piece_extent.num_dims() - 1;
  for (int dim = last; dim >= 0; --dim) {
    const bool cut_row = dim == last && piece_extent.rows() > 1;
    const std::int64_t limit = cut_row ? std::min(budget, tile_columns) : budget;
    const std::int64_t parts = divide_up(piece_extent[dim], limit);
    tile[dim] = divide_up(piece_extent[dim], parts);
    budget = std::max<std::int64_t>(1, budget / tile[dim]);
  }
  return tile;
}

TileGrid::TileGrid(const Shard& piece, const Shape& tile) : piece_(piece), tile_(tile), counts_(tile) {
  for (int dim = 0; dim < tile.num_dims(); ++dim) counts_[dim] = divide_up(piece.extent[dim], tile[dim]);
}

Shard TileGrid::padded(std::int64_t number) const {
  Shard tile{piece_.offset, tile_};
  for (int dim = tile_.num_dims() - 1; dim >= 0; --dim) {
    tile.offset[dim] += (number % counts_[dim]) * tile_[dim];
    number /= counts_[dim];
  }
  return tile;
}

Shard TileGrid::inner(std::int64_t number) const {
  Shard tile = padded(number);
  for (int dim = 0; dim < tile_.num_dims(); ++dim) {
    tile.extent[dim] = std::min(tile.extent[dim], piece_.offset[dim] + piece_.extent[dim] - tile.offset[dim]);
  }
  return tile;
}

std::vector<std::int64_t> TileGrid::touching(const Shard& rectangle) const {
  const auto common = intersect(rectangle, piece_);
  if (!common) return {};
  std::vector<std::int64_t> numbers{0};
  for (int dim = 0; dim < tile_.num_dims(); ++dim) {
    const std::int64_t first = (common->offset[dim] - piece_.offset[dim]) / tile_[dim];
    const std::int64_t last = (common->offset[dim] + common->extent[dim] - 1 - piece_.offset[dim]) / tile_[dim];
    std::vector<std::int64_t> longer;
    for (const std::int64_t number : numbers) {
      for (std::int64_t at = first; at <= last; ++at) longer.push_back(number * counts_[dim] + at);
    }
    numbers = std::move(longer);
  }
  return numbers;
}

io::Hash128 hash_tile(const std::string& save_id, const std::string& tensor, const Shape& tensor_shape,
                      const Shard& padded, const void* data, std::size_t bytes) {
  std::uint64_t first = 0;
  for (int dim = 0; dim < tensor_shape.num_dims(); ++dim) {
    first = first * static_cast<std::uint64_t>(tensor_shape[dim]) + static_cast<std::uint64_t>(padded.offset[dim]);
  }
  io::Hasher hasher;
  hasher.add(save_id.data(), save_id.size());
  hasher.add(tensor.c_str(), tensor.size() + 1);
  hasher.add(&first, sizeof first);
  hasher.add(data, bytes);
  return hasher.value();
}

}  // namespace trireme::checkpoint
