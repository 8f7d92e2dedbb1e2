#include "hdf5/metadata_image.hpp"

#include <algorithm>
#include <cstring>

namespace trireme::hdf5 {

MetadataImage::Blocks::const_iterator MetadataImage::first_beyond(std::uint64_t address) const {
  auto block = blocks_.upper_bound(address);
  if (block != blocks_.begin()) {
    const auto before = std::prev(block);
    if (before->first + before->second.size() > address) {
      return before;
    }
  }
  return block;
}

void MetadataImage::put(std::uint64_t address, const void* data, std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  cut(address, bytes);
  const auto* from = static_cast<const char*>(data);
  blocks_.emplace(address, std::vector<char>(from, from + bytes));
}

void MetadataImage::cut(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  for (auto block = first_beyond(address); block != blocks_.end() && block->first < end;) {
    const std::uint64_t begin = block->first;
    std::vector<char> content = block->second;
    block = blocks_.erase(block);
    if (begin + content.size() > end) {
      const auto tail = content.begin() + static_cast<std::ptrdiff_t>(end - begin);
      block = blocks_.emplace(end, std::vector<char>(tail, content.end())).first;
    }
    if (begin < address) {
      content.resize(address - begin);
      blocks_.emplace(begin, std::move(content));
    }
  }
}

void MetadataImage::get(std::uint64_t address, void* data, std::size_t bytes) const {
  const std::uint64_t end = address + bytes;
  for (auto block = first_beyond(address); block != blocks_.end() && block->first < end; ++block) {
    const std::uint64_t from = std::max(address, block->first);
    const std::uint64_t to = std::min(end, block->first + block->second.size());
    std::memcpy(static_cast<char*>(data) + (from - address), block->second.data() + (from - block->first), to - from);
  }
}

}  // namespace trireme::hdf5
