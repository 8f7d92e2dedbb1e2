// All memory of a run, allocated once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trireme::device {

/// What a byte is for; the memory plan and the table at the end of a run are by class.
enum class MemoryClass : std::uint8_t { parameters, gradients, moments, masters, activations, buffers };
inline constexpr int num_memory_classes = 6;
[[nodiscard]] std::string_view name_of(MemoryClass memory_class);

/// A bump allocator over one region.
///
/// A *measuring* arena has no memory: it hands out null pointers and counts, so the very code that lays out a run also
/// foretells it. A real arena reserves and touches everything at construction: what does not run out of memory then
/// never does. Every block starts on 64 bytes. The memory goes back at destruction, but not while an error unwinds the
/// stack: then the process is about to end, and messages may still arrive in it.
class Arena {
 public:
  /// A measuring arena.
  Arena() = default;

  /// Maps and touches `capacity_bytes`. Throws SystemError with the number of bytes when the system refuses.
  explicit Arena(std::size_t capacity_bytes);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  /// Returns zeroed memory on 64 bytes, or nullptr when measuring. Throws SystemError when the arena is exhausted.
  void* allocate(std::size_t bytes, MemoryClass memory_class);

  [[nodiscard]] bool measuring() const noexcept { return base_ == nullptr; }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  [[nodiscard]] std::size_t used_bytes(MemoryClass memory_class) const noexcept;
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return capacity_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::array<std::size_t, num_memory_classes> used_by_class_{};
};

}  // namespace trireme::device
