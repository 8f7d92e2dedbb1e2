#include "data/hashed_array.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "data/format.hpp"

namespace trireme::data {

HashedArray::HashedArray(const hdf5::Reader& reader, std::shared_ptr<const io::File> file, std::string name,
                         Dtype dtype, std::int64_t num_elements)
    : file_(std::move(file)),
      name_(std::move(name)),
      dtype_(dtype),
      num_elements_(num_elements),
      num_bytes_(num_elements * static_cast<std::int64_t>(size_of(dtype))) {
  if (!reader.has(name_)) {
    throw InputError(fmt::format("`{}` has no dataset `{}` (it is incomplete) make it anew with `trireme prepare`",
                                 file_->path(), name_));
  }
  const hdf5::DatasetInfo info = reader.info(name_);
  check_layout(info);
  offset_ = info.offset;
  load_hashes(reader);
  verified_ = std::make_unique<std::atomic<bool>[]>(hashes_.size());
}

void HashedArray::check_layout(const hdf5::DatasetInfo& info) const {
  const auto refuse = [&](const std::string& what) {
    throw InputError(
        fmt::format("dataset `{}` of `{}` {} make the file anew with `trireme prepare`", name_, file_->path(), what));
  };
  if (info.dtype != dtype_) refuse(fmt::format("holds `{}` (must be `{}`)", name_of(info.dtype), name_of(dtype_)));
  if (info.extents.size() != 1) refuse(fmt::format("has {} dimensions (must have 1)", info.extents.size()));
  if (info.extents[0] != static_cast<std::uint64_t>(num_elements_)) {
    refuse(fmt::format("has {} elements (the file's attributes say {})", info.extents[0], num_elements_));
  }
  if (!info.chunk.empty() || info.offset == 0) refuse("is not contiguous (chunked, compressed or never written)");
  const std::uint64_t file_bytes = file_->size();
  if (info.offset > file_bytes || file_bytes - info.offset < static_cast<std::uint64_t>(num_bytes_)) {
    refuse(fmt::format("ends at byte {} (the file has only {})", info.offset + static_cast<std::uint64_t>(num_bytes_),
                       file_bytes));
  }
}

void HashedArray::load_hashes(const hdf5::Reader& reader) {
  const std::string table = hashes_of(name_);
  const auto blocks = static_cast<std::uint64_t>(num_hash_blocks(num_bytes_));
  const bool usable = reader.has(table) && reader.info(table).dtype == Dtype::u64 &&
                      reader.info(table).extents == hdf5::Extents{blocks, 2};
  if (!usable) {
    throw InputError(
        fmt::format("`{}` has no dataset `{}` of {} x 2 `uint64` (the hashes of `{}`) make it anew with "
                    "`trireme prepare`",
                    file_->path(), table, blocks, name_));
  }
  std::vector<std::uint64_t> words(2 * blocks);
  reader.read(table, Dtype::u64, words.data());
  const std::string hash = io::hash128(words.data(), words.size() * sizeof(std::uint64_t)).text();
  if (reader.text_attribute("/", hash_attribute_of(name_)) != hash) {
    throw InputError(
        fmt::format("dataset `{}` of `{}` is damaged (its hash is not the stored one) copy the file again "
                    "or make it anew with `trireme prepare`",
                    table, file_->path()));
  }
  hashes_.resize(blocks);
  for (std::size_t block = 0; block < blocks; ++block) hashes_[block] = {words[2 * block], words[2 * block + 1]};
}

void HashedArray::read(std::int64_t begin, std::int64_t count, void* out) const {
  TRIREME_EXPECT(begin >= 0 && count >= 0 && begin + count <= num_elements_);
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype_));
  const std::int64_t last = (begin + count) * element_bytes;
  auto* target = static_cast<char*>(out);
  for (std::int64_t from = begin * element_bytes; from < last;) {
    const std::int64_t block = from / hash_block_bytes;
    const std::int64_t to = std::min(last, (block + 1) * hash_block_bytes);
    read_block_part(block, from, to, target);
    target += to - from;
    from = to;
  }
}

/// Copies bytes [from, to) of the dataset, which lie in `block`.
void HashedArray::read_block_part(std::int64_t block, std::int64_t from, std::int64_t to, char* out) const {
  const auto index = static_cast<std::size_t>(block);
  if (verified_[index].load(std::memory_order_relaxed)) {
    file_->read_at(offset_ + static_cast<std::uint64_t>(from), out, static_cast<std::size_t>(to - from));
    return;
  }
  const std::int64_t begin = block * hash_block_bytes;
  std::vector<char> bytes(static_cast<std::size_t>(std::min(hash_block_bytes, num_bytes_ - begin)));
  file_->read_at(offset_ + static_cast<std::uint64_t>(begin), bytes.data(), bytes.size());
  if (io::hash128(bytes.data(), bytes.size()) != hashes_[index]) {
    const auto element_bytes = static_cast<std::int64_t>(size_of(dtype_));
    throw InputError(
        fmt::format("dataset `{}` of `{}` is damaged between positions {} and {} (the hash of these bytes is not the "
                    "stored one) copy "
                    "the file again or make it anew with `trireme prepare`",
                    name_, file_->path(), begin / element_bytes,
                    (begin + static_cast<std::int64_t>(bytes.size())) / element_bytes - 1));
  }
  std::memcpy(out, bytes.data() + (from - begin), static_cast<std::size_t>(to - from));
  verified_[index].store(true, std::memory_order_relaxed);
}

}  // namespace trireme::data
