#include "hdf5/user_block.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/hdf5/file.hpp"

namespace trireme::hdf5 {
namespace {

constexpr std::array<char, 8> block_magic = {'T', 'R', 'I', 'R', 'E', 'M', 'E', '\x1a'};
constexpr std::array<char, 8> trailer_magic = {'T', 'R', 'I', 'T', 'R', 'A', 'I', 'L'};
constexpr std::uint64_t format_version = 1;
constexpr std::size_t hashed_block_bytes = user_block_bytes - sizeof(io::Hash128);
constexpr std::uint64_t trailer_head_bytes = 32;
constexpr std::uint64_t most_trailer_bytes = std::uint64_t{64} << 20;  ///< files come from strangers

/// Bytes 0 to 55 of the user block; zeros follow up to its own hash.
struct Head {
  std::array<char, 8> magic = block_magic;
  std::uint64_t version = format_version;
  std::uint64_t file_bytes = 0;
  std::uint64_t trailer_offset = 0;
  std::uint64_t trailer_bytes = 0;
  io::Hash128 trailer_hash;
};
static_assert(sizeof(Head) == 56 && sizeof(io::Hash128) == 16 && sizeof(Extent) == 16);

using Block = std::array<char, user_block_bytes>;

struct TrailerHead {
  std::array<char, 8> magic = trailer_magic;
  std::uint64_t num_extents = 0;
  io::Hash128 metadata_hash;
};
static_assert(sizeof(TrailerHead) == trailer_head_bytes);

/// What a damaged file is refused with.
[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InputError(fmt::format("`{}` is damaged ({}) use a whole copy of it", path, why));
}

io::Hash128 hash_of(const Block& block, const std::vector<char>& trailer) {
  io::Hasher hasher;
  hasher.add(block.data(), block.size());
  hasher.add(trailer.data(), trailer.size());
  return hasher.value();
}

std::vector<char> encode_trailer(const std::vector<Extent>& extents, const io::Hash128& metadata) {
  const TrailerHead head{.num_extents = extents.size(), .metadata_hash = metadata};
  std::vector<char> trailer(sizeof(head) + extents.size() * sizeof(Extent));
  std::memcpy(trailer.data(), &head, sizeof(head));
  if (!extents.empty()) {
    std::memcpy(trailer.data() + sizeof(head), extents.data(), extents.size() * sizeof(Extent));
  }
  return trailer;
}

Block encode_block(const Head& head) {
  Block block{};
  std::memcpy(block.data(), &head, sizeof(head));
  const io::Hash128 own = io::hash128(block.data(), hashed_block_bytes);
  std::memcpy(block.data() + hashed_block_bytes, &own, sizeof(own));
  return block;
}

Block read_block(const io::File& file, std::uint64_t file_bytes) {
  if (file_bytes < user_block_bytes) {
    refuse(file.path(), fmt::format("it has {} bytes, its user block alone has {}", file_bytes, user_block_bytes));
  }
  Block block;
  file.read_at(0, block.data(), block.size());
  if (std::all_of(block.begin(), block.end(), [](char byte) { return byte == 0; })) {
    refuse(file.path(), "its user block is empty: its writer never finished it");
  }
  return block;
}

Head checked_head(const Block& block, const std::string& path, std::uint64_t file_bytes) {
  Head head;
  std::memcpy(&head, block.data(), sizeof(head));
  io::Hash128 own;
  std::memcpy(&own, block.data() + hashed_block_bytes, sizeof(own));
  if (head.magic != block_magic) {
    refuse(path, "it does not begin as a file written by Trireme");
  }
  if (!(own == io::hash128(block.data(), hashed_block_bytes))) {
    refuse(path, "its user block does not match the hash of it");
  }
  if (head.version != format_version) {
    throw InputError(
        fmt::format("`{}` has version {} of the file layout (this program knows version {}) "
                    "use a newer version of the program",
                    path, head.version, format_version));
  }
  if (head.file_bytes != file_bytes) {
    refuse(path, fmt::format("it has {} bytes, it was written with {}", file_bytes, head.file_bytes));
  }
  if (head.trailer_bytes < trailer_head_bytes || head.trailer_bytes > most_trailer_bytes ||
      head.trailer_bytes > file_bytes - user_block_bytes || head.trailer_offset != file_bytes - head.trailer_bytes) {
    refuse(path, "its trailer has an impossible place");
  }
  return head;
}

std::vector<char> read_trailer(const io::File& file, const Head& head) {
  std::vector<char> trailer(head.trailer_bytes);
  file.read_at(head.trailer_offset, trailer.data(), trailer.size());
  if (!(io::hash128(trailer.data(), trailer.size()) == head.trailer_hash)) {
    refuse(file.path(), "its trailer does not match the hash of it");
  }
  return trailer;
}

/// The hash of the bytes of all extents, which must lie in order between user block and trailer.
io::Hash128 hash_metadata(const io::File& file, const std::vector<char>& trailer, std::uint64_t end) {
  io::Hasher hasher;
  std::vector<char> piece(std::size_t{1} << 20);
  std::uint64_t done = user_block_bytes;
  for (std::size_t at = sizeof(TrailerHead); at < trailer.size(); at += sizeof(Extent)) {
    Extent extent;
    std::memcpy(&extent, trailer.data() + at, sizeof(extent));
    if (extent.offset < done || extent.offset > end || extent.bytes > end - extent.offset) {
      refuse(file.path(), "its trailer lists an impossible place");
    }
    done = extent.offset + extent.bytes;
    for (std::uint64_t from = extent.offset; from < done; from += piece.size()) {
      const std::size_t now = std::min<std::uint64_t>(piece.size(), done - from);
      file.read_at(from, piece.data(), now);
      hasher.add(piece.data(), now);
    }
  }
  return hasher.value();
}

}  // namespace

io::Hash128 write_user_block(io::File& file, std::uint64_t end, const std::vector<Extent>& extents,
                             const io::Hash128& metadata, std::uint64_t& file_bytes) {
  const std::vector<char> trailer = encode_trailer(extents, metadata);
  Head head;
  head.trailer_offset = (end + 7) / 8 * 8;
  head.trailer_bytes = trailer.size();
  head.trailer_hash = io::hash128(trailer.data(), trailer.size());
  head.file_bytes = head.trailer_offset + head.trailer_bytes;
  const Block block = encode_block(head);
  file.write_at(head.trailer_offset, trailer.data(), trailer.size());
  file.write_at(0, block.data(), block.size());
  file_bytes = head.file_bytes;
  return hash_of(block, trailer);
}

io::Hash128 verify_user_block(const std::string& path) {
  const io::File file(path, io::File::Mode::read);
  const std::uint64_t file_bytes = file.size();
  const Block block = read_block(file, file_bytes);
  const Head head = checked_head(block, path, file_bytes);
  const std::vector<char> trailer = read_trailer(file, head);
  TrailerHead listed;
  std::memcpy(&listed, trailer.data(), sizeof(listed));
  if (listed.magic != trailer_magic || listed.num_extents != (trailer.size() - sizeof(listed)) / sizeof(Extent) ||
      (trailer.size() - sizeof(listed)) % sizeof(Extent) != 0) {
    refuse(path, "its trailer has an impossible length");
  }
  if (!(hash_metadata(file, trailer, head.trailer_offset) == listed.metadata_hash)) {
    refuse(path, "its HDF5 metadata does not match the hash of it");
  }
  return hash_of(block, trailer);
}

}  // namespace trireme::hdf5
