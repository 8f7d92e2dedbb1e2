#include "trireme/device/arena.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

#include "trireme/base/error.hpp"
#include "trireme/base/units.hpp"

namespace trireme::device {

namespace {

constexpr std::size_t block_alignment = 64;
constexpr std::size_t page_bytes = 4096;

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

// A region of capacity 0 is legal and still needs an address.
std::size_t mapped_bytes(std::size_t capacity) {
  return std::max(capacity, page_bytes);
}

std::byte* map_region(std::size_t bytes) {
  void* region = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) {
    throw SystemError(fmt::format("cannot reserve {} bytes ({}) of memory (mmap: {}) use more ranks or a smaller batch",
                                  bytes, format_bytes(bytes), std::strerror(errno)));
  }
  // Only a hint: fewer page faults and fewer misses of the address cache where the system grants it.
  madvise(region, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(region);
}

// Anonymous memory exists only once it is written to.
void touch(std::byte* region, std::size_t bytes) {
  volatile std::byte* page = region;
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes) page[offset] = std::byte{0};
}

}  // namespace

std::string_view name_of(MemoryClass memory_class) {
  switch (memory_class) {
    case MemoryClass::parameters:
      return "parameters";
    case MemoryClass::gradients:
      return "gradients";
    case MemoryClass::moments:
      return "moments";
    case MemoryClass::masters:
      return "masters";
    case MemoryClass::activations:
      return "activations";
    case MemoryClass::buffers:
      return "buffers";
  }
  return "unknown";
}

Arena::Arena(std::size_t capacity_bytes) : base_(map_region(mapped_bytes(capacity_bytes))), capacity_(capacity_bytes) {
  touch(base_, mapped_bytes(capacity_));
}

Arena::~Arena() {
  // While an error unwinds the stack messages may be under way, and what still arrives must not meet other memory.
  if (std::uncaught_exceptions() > 0) return;
  if (base_ != nullptr) munmap(base_, mapped_bytes(capacity_));
}

Arena::Arena(Arena&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)),
      used_(std::exchange(other.used_, 0)),
      used_by_class_(std::exchange(other.used_by_class_, {})) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(capacity_, other.capacity_);
  std::swap(used_, other.used_);
  std::swap(used_by_class_, other.used_by_class_);
  return *this;
}

void* Arena::allocate(std::size_t bytes, MemoryClass memory_class) {
  const std::size_t block = rounded_up(bytes);
  if (!measuring() && (block < bytes || block > capacity_ - used_)) {
    throw SystemError(fmt::format("cannot lay out {} bytes of {} ({} of {} bytes of the arena are used)", bytes,
                                  name_of(memory_class), used_, capacity_));
  }
  void* address = measuring() ? nullptr : base_ + used_;
  used_ += block;
  used_by_class_[static_cast<std::size_t>(memory_class)] += block;
  return address;
}

std::size_t Arena::used_bytes(MemoryClass memory_class) const noexcept {
  return used_by_class_[static_cast<std::size_t>(memory_class)];
}

}  // namespace trireme::device
