#pragma once

#include "trireme/device/arena.hpp"

namespace trireme::bench {

/// A group of tensors with an arena just large enough for it. T(arguments..., arena) lays itself out.
/// It stays where it is: rows of work refer to it.
template <class T>
class Placed {
 public:
  template <class... Arguments>
  explicit Placed(Arguments&&... arguments) : arena_(bytes_of(arguments...)), value_(arguments..., arena_) {}
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  T* operator->() noexcept { return &value_; }
  const T* operator->() const noexcept { return &value_; }

 private:
  template <class... Arguments>
  static std::size_t bytes_of(Arguments&... arguments) {
    device::Arena measuring;
    const T layout(arguments..., measuring);
    return measuring.used_bytes();
  }

  device::Arena arena_;
  T value_;
};

}  // namespace trireme::bench
