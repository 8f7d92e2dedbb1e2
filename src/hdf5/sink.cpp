#include "hdf5/sink.hpp"

#include <algorithm>
#include <cstring>

#include "hdf5/user_block.hpp"

namespace trireme::hdf5 {
namespace {

struct Summary {
  std::vector<Extent> extents;
  io::Hash128 hash;
};

/// Extents of the image, neighbours merged, and the hash over all of its bytes in order.
Summary summarize(const MetadataImage& image) {
  std::vector<Extent> extents;
  io::Hasher hasher;
  for (const auto& [offset, content] : image.blocks()) {
    if (!extents.empty() && extents.back().offset + extents.back().bytes == offset) {
      extents.back().bytes += content.size();
    } else {
      extents.push_back({offset, content.size()});
    }
    hasher.add(content.data(), content.size());
  }
  return {extents, hasher.value()};
}

/// One write for each extent rather than for each of the library's small blocks.
void write_extents(io::File& file, const MetadataImage& image, const std::vector<Extent>& extents) {
  std::vector<char> content;
  for (const Extent& extent : extents) {
    content.resize(extent.bytes);
    image.get(extent.offset, content.data(), content.size());
    file.write_at(extent.offset, content.data(), content.size());
  }
}

}  // namespace

void Sink::write_metadata(std::uint64_t address, const void* data, std::size_t bytes) noexcept {
  extend_to(address + bytes);
  try {
    metadata_.put(address, data, bytes);
  } catch (...) {
    first_error_ = first_error_ ? first_error_ : std::current_exception();
  }
}

void Sink::write_raw(std::uint64_t address, const void* data, std::size_t bytes) noexcept {
  extend_to(address + bytes);
  try {
    metadata_.cut(address, bytes);
    if (!first_error_) {
      file_.write_at(address, data, bytes);
    }
  } catch (...) {
    first_error_ = first_error_ ? first_error_ : std::current_exception();
  }
}

void Sink::read(std::uint64_t address, void* data, std::size_t bytes) noexcept {
  std::memset(data, 0, bytes);
  try {
    const std::uint64_t size = file_.size();
    if (address < size) {
      file_.read_at(address, data, std::min<std::uint64_t>(bytes, size - address));
    }
  } catch (...) {
    first_error_ = first_error_ ? first_error_ : std::current_exception();
  }
  metadata_.get(address, data, bytes);
}

Finished Sink::finish() {
  if (first_error_) {
    std::rethrow_exception(first_error_);
  }
  const Summary summary = summarize(metadata_);
  write_extents(file_, metadata_, summary.extents);
  Finished finished;
  finished.metadata_hash = write_user_block(file_, end_, summary.extents, summary.hash, finished.bytes);
  file_.sync();
  file_.close();
  return finished;
}

}  // namespace trireme::hdf5
