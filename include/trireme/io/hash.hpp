#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace trireme::io {

/// An xxh3-128 value.
struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
  /// 32 hexadecimal digits.
  [[nodiscard]] std::string text() const;
};

/// Streaming xxh3-128.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  void add(const void* data, std::size_t bytes);
  [[nodiscard]] Hash128 value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] Hash128 hash128(const void* data, std::size_t bytes);
[[nodiscard]] std::uint64_t hash64(const void* data, std::size_t bytes);

}  // namespace trireme::io
