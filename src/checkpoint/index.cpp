#include "checkpoint/index.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <fmt/core.h>

#include "trireme/base/error.hpp"

#include "checkpoint/folder.hpp"
#include "checkpoint/table.hpp"
#include "checkpoint/tiles.hpp"

namespace trireme::checkpoint {
namespace {

constexpr std::array<std::string_view, 3> groups{"weights/", "moments/first/", "moments/second/"};
constexpr std::size_t max_name_length = 512;
// HDF5's virtual datasets lose what lies beyond these.
constexpr std::int64_t max_extent = std::int64_t{1} << 32;
constexpr std::int64_t max_vector = std::int64_t{1} << 31;
/// A tile is read into one buffer: this bounds what a stranger's file can make us allocate.
constexpr std::int64_t max_tile_bytes = std::int64_t{1} << 26;
constexpr std::int64_t max_shards = 1 << 20;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

bool is_tensor_name(std::string_view name) {
  const auto* const group = std::find_if(groups.begin(), groups.end(),
                                         [&](std::string_view candidate) { return name.starts_with(candidate); });
  if (group == groups.end() || name.size() > max_name_length) return false;
  const std::string_view rest = name.substr(group->size());
  return !rest.empty() && rest != "." && rest != ".." && std::all_of(rest.begin(), rest.end(), is_name_character);
}

bool product_fits(const Shape& shape) {
  std::int64_t product = 1;
  for (int dim = 0; dim < shape.num_dims(); ++dim) {
    if (shape[dim] < 0 || __builtin_mul_overflow(product, shape[dim], &product)) return false;
  }
  return product < std::numeric_limits<std::int64_t>::max() / 64;
}

TensorInfo parse_tensor(const std::vector<std::string_view>& columns, const std::vector<TensorInfo>& before) {
  const TensorInfo tensor{std::string(columns[0]), to_shape(columns[2]), to_dtype(columns[1])};
  const std::string problem = tensor_problem(tensor);
  if (!problem.empty()) throw InputError(fmt::format("tensor `{}` {}", tensor.name, problem));
  if (!before.empty() && before.back().name >= tensor.name) {
    throw InputError(fmt::format("tensor `{}` stands in wrong order or twice", tensor.name));
  }
  return tensor;
}

StoredPiece parse_piece(const std::vector<std::string_view>& columns) {
  StoredPiece piece;
  piece.tensor = to_integer(columns[0]);
  piece.shard = to_integer(columns[1]);
  piece.number = to_integer(columns[2]);
  piece.rectangle = {to_shape(columns[3]), to_shape(columns[4])};
  piece.tile = to_shape(columns[5]);
  return piece;
}

void check_piece(const StoredPiece& piece, const StoredPiece* before, const Index& index) {
  const auto has = [](std::int64_t number, std::size_t count) {
    return number >= 0 && static_cast<std::uint64_t>(number) < count;
  };
  if (!has(piece.tensor, index.tensors.size()) || !has(piece.shard, index.shards.size())) {
    throw InputError("no such tensor or shard");
  }
  const TensorInfo& tensor = index.tensor_of(piece);
  if (!is_inside(piece.rectangle, tensor.shape) || piece.rectangle.extent.size() < 1) {
    throw InputError(fmt::format("{} is no part of `{}`", text_of(piece.rectangle), tensor.name));
  }
  if (!is_inside({piece.rectangle.offset, piece.tile}, tensor.shape) || piece.tile.size() < 1 ||
      piece.tile.size() > max_tile_bytes / static_cast<std::int64_t>(size_of(tensor.dtype))) {
    throw InputError(fmt::format("{} is no tile of `{}`", piece.tile.text(), tensor.name));
  }
  const bool same_group = before != nullptr && before->shard == piece.shard && before->tensor == piece.tensor;
  const bool in_order = before == nullptr || before->shard < piece.shard ||
                        (before->shard == piece.shard && before->tensor <= piece.tensor);
  if (!in_order || piece.number != (same_group ? before->number + 1 : 0)) {
    throw InputError(fmt::format("a piece of `{}` stands in wrong order", tensor.name));
  }
}

StoredShard parse_shard(const std::vector<std::string_view>& columns) {
  StoredShard shard{to_unsigned(columns[0]), to_hash(columns[1]), to_hash(columns[2]), to_integer(columns[3])};
  if (shard.num_tiles < 0 || static_cast<std::uint64_t>(shard.num_tiles) > shard.bytes / sizeof(io::Hash128)) {
    throw InputError(fmt::format("{} tiles do not fit in {} bytes", shard.num_tiles, shard.bytes));
  }
  return shard;
}

void check_covers(const Index& index) {
  std::vector<std::vector<Shard>> rectangles(index.tensors.size());
  for (const StoredPiece& piece : index.pieces) {
    auto& of_tensor = rectangles[static_cast<std::size_t>(piece.tensor)];
    if (of_tensor.size() == max_pieces_per_tensor) {
      throw InputError(
          fmt::format("tensor `{}` has more than {} pieces", index.tensor_of(piece).name, max_pieces_per_tensor));
    }
    of_tensor.push_back(piece.rectangle);
  }
  for (std::size_t i = 0; i < index.tensors.size(); ++i) {
    const std::string problem = cover_problem(index.tensors[i].shape, std::move(rectangles[i]));
    if (!problem.empty()) throw InputError(fmt::format("tensor `{}` is not whole: {}", index.tensors[i].name, problem));
  }
}

void check_tiles(Index& index) {
  const std::vector<std::int64_t> num_tiles = number_tiles(index.pieces, index.shards.size());
  for (std::size_t shard = 0; shard < num_tiles.size(); ++shard) {
    if (num_tiles[shard] != index.shards[shard].num_tiles) {
      throw InputError(fmt::format("`{}` should have {} tiles, not {}", shard_name(static_cast<std::int64_t>(shard)),
                                   num_tiles[shard], index.shards[shard].num_tiles));
    }
  }
}

}  // namespace

std::uint64_t Index::total_bytes() const {
  std::uint64_t bytes = index_bytes;
  for (const StoredShard& shard : shards) bytes += shard.bytes;
  return bytes;
}

std::string dataset_of(const TensorInfo& tensor, const StoredPiece& piece) {
  return fmt::format("/{}/{}", tensor.name, piece.number);
}

std::string tensor_problem(const TensorInfo& tensor) {
  if (!is_tensor_name(tensor.name)) {
    return "has a name that is not `weights/...`, `moments/first/...` or `moments/second/...` of "
           "letters, "
           "digits, `_`, `.` and `-`";
  }
  const Shape& shape = tensor.shape;
  if (shape.num_dims() < 1) return "has no dimension";
  if (!product_fits(shape) || shape.size() < 1) return fmt::format("has the impossible shape {}", shape.text());
  const std::int64_t limit = shape.num_dims() == 1 ? max_vector : max_extent;
  for (int dim = 0; dim < shape.num_dims(); ++dim) {
    if (shape[dim] > limit) return fmt::format("of shape {} is too long (extents up to {})", shape.text(), limit);
  }
  return {};
}

Tables tables_of(const Index& index) {
  Tables tables;
  for (const TensorInfo& tensor : index.tensors) {
    tables.tensors += fmt::format("{}\t{}\t{}\n", tensor.name, name_of(tensor.dtype), column_of(tensor.shape));
  }
  for (const StoredPiece& piece : index.pieces) {
    tables.pieces +=
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", piece.tensor, piece.shard, piece.number,
                    column_of(piece.rectangle.offset), column_of(piece.rectangle.extent), column_of(piece.tile));
  }
  for (const StoredShard& shard : index.shards) {
    tables.shards += fmt::format("{}\t{}\t{}\t{}\n", shard.bytes, column_of(shard.metadata_hash),
                                 column_of(shard.table_hash), shard.num_tiles);
  }
  return tables;
}

void parse_tables(const Tables& tables, Index& index) {
  for_each_row(tables.tensors, "tensors", 3,
               [&](const auto& columns) { index.tensors.push_back(parse_tensor(columns, index.tensors)); });
  for_each_row(tables.shards, "shards", 4, [&](const auto& columns) {
    if (index.shards.size() == static_cast<std::size_t>(max_shards)) throw InputError("too many shards");
    index.shards.push_back(parse_shard(columns));
  });
  for_each_row(tables.pieces, "pieces", 6, [&](const auto& columns) {
    const StoredPiece piece = parse_piece(columns);
    check_piece(piece, index.pieces.empty() ? nullptr : &index.pieces.back(), index);
    index.pieces.push_back(piece);
  });
  check_covers(index);
  check_tiles(index);
}

std::vector<std::int64_t> number_tiles(std::vector<StoredPiece>& pieces, std::size_t num_shards) {
  std::vector<std::int64_t> num_tiles(num_shards);
  for (StoredPiece& piece : pieces) {
    std::int64_t& next = num_tiles[static_cast<std::size_t>(piece.shard)];
    piece.first_tile = next;
    next += TileGrid(piece.rectangle, piece.tile).count();
  }
  return num_tiles;
}

}  // namespace trireme::checkpoint
