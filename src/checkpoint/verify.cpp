// Reads everything and goes on after each finding, so that every bad file and tensor is named.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"
#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/element.hpp"
#include "checkpoint/extents.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/store.hpp"

namespace trireme::checkpoint {
namespace {

class Verification {
 public:
  explicit Verification(std::string folder) : folder_(std::move(folder)) {}
  std::vector<Damage> run();

 private:
  void check_files_alone();
  void check_names(const Index& index);
  void check_virtual_datasets(const Index& index);
  void check_shard(Store& store, std::int64_t shard);
  void check_piece(Store& store, const ShardReader& reader, const StoredPiece& piece);
  /// Runs work; what it throws is a finding about the file.
  template <class Work>
  void find_in(const std::string& file, Work&& work);

  std::string folder_;
  std::vector<Damage> damages_;
};

template <class Work>
void Verification::find_in(const std::string& file, Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    damages_.push_back({file, error.what()});
  }
}

std::vector<Damage> Verification::run() {
  std::optional<Index> index;
  find_in(index_name, [&] { index = read_index(folder_); });
  if (!index) {
    check_files_alone();
    return damages_;
  }
  check_names(*index);
  find_in(index_name, [&] { check_virtual_datasets(*index); });
  Store store(folder_, std::move(*index));
  for (std::int64_t shard = 0; shard < static_cast<std::int64_t>(store.index().shards.size()); ++shard) {
    check_shard(store, shard);
  }
  return damages_;
}

/// Without an index nothing says what the shards should be: only whether each is whole in itself.
void Verification::check_files_alone() {
  for (const std::string& name : io::list_folder(folder_)) {
    if (name.starts_with("shard_")) find_in(name, [&] { hdf5::verify_user_block(folder_ + "/" + name); });
  }
}

void Verification::check_names(const Index& index) {
  std::unordered_set<std::string> expected{index_name};
  for (std::size_t i = 0; i < index.shards.size(); ++i) expected.insert(shard_name(static_cast<std::int64_t>(i)));
  for (const std::string& name : io::list_folder(folder_)) {
    if (!expected.contains(name)) {
      damages_.push_back({name, fmt::format("`{}/{}` does not belong to this checkpoint", folder_, name)});
    }
  }
}

/// Training never reads them, but other programs do.
void Verification::check_virtual_datasets(const Index& index) {
  const hdf5::Reader reader(folder_ + "/" + index_name);
  for (const TensorInfo& tensor : index.tensors) {
    find_in(index_name, [&] {
      const hdf5::DatasetInfo info = reader.info("/" + tensor.name);
      if (info.extents != extents_of(tensor.shape) || info.dtype != tensor.dtype) {
        throw InputError(
            fmt::format("`{}`: virtual dataset `{}` is not what its table says", reader.path(), tensor.name));
      }
    });
  }
}

void Verification::check_shard(Store& store, std::int64_t shard) {
  find_in(shard_name(shard), [&] {
    const ShardReader reader(folder_, store.index(), shard);
    // Pieces are ordered by shard.
    const std::vector<StoredPiece>& pieces = store.index().pieces;
    auto piece = std::partition_point(pieces.begin(), pieces.end(),
                                      [shard](const StoredPiece& stored) { return stored.shard < shard; });
    for (; piece != pieces.end() && piece->shard == shard; ++piece) check_piece(store, reader, *piece);
  });
}

/// One finding per piece, however many of its tiles are bad.
void Verification::check_piece(Store& store, const ShardReader& reader, const StoredPiece& piece) {
  const TensorInfo& tensor = store.index().tensor_of(piece);
  const TileGrid tiles(piece.rectangle, piece.tile);
  std::vector<std::byte> buffer;
  std::vector<double> numbers;
  std::int64_t num_nonfinite = 0;
  std::int64_t num_bad = 0;
  std::string first;
  for (std::int64_t number = 0; number < tiles.count(); ++number) {
    try {
      reader.read_tile(piece, number, buffer);
      to_doubles(tensor.dtype, buffer.data(), piece.tile.size(), numbers);
      num_nonfinite += count_nonfinite(numbers);
    } catch (const Error& error) {
      if (num_bad++ == 0) first = error.what();
    }
  }
  const std::string file = shard_name(piece.shard);
  if (num_bad > 0) damages_.push_back({file, fmt::format("{}; {} of {} tiles are bad", first, num_bad, tiles.count())});
  if (num_nonfinite > 0) {
    damages_.push_back({file, fmt::format("`{}/{}`: tensor `{}` has {} not finite (NaN or infinite)", folder_, file,
                                          tensor.name, counted(static_cast<std::uint64_t>(num_nonfinite), "element"))});
  }
}

}  // namespace

std::vector<Damage> verify(const std::string& path) {
  return Verification(find_checkpoint(path)).run();
}

int print_verify(const std::string& path) {
  const std::string folder = find_checkpoint(path);
  const std::vector<Damage> damages = verify(folder);
  for (const Damage& damage : damages) fmt::print("{}: {}\n", damage.file, damage.what);
  if (damages.empty()) {
    fmt::print("{}: sound\n", folder);
  } else {
    fmt::print("{}: damaged ({})\n", folder, counted(damages.size(), "finding"));
  }
  return static_cast<int>(damages.empty() ? ExitCode::finished : ExitCode::input_error);
}

}  // namespace trireme::checkpoint
