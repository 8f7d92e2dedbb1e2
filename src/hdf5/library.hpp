// The HDF5 library behind plain types: its lock, its handles, its words.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>

#include "trireme/base/error.hpp"

namespace trireme::hdf5 {

/// Held over every use of the library by this process. Keeps the library from printing errors by itself.
class LibraryLock {
 public:
  LibraryLock();

 private:
  std::scoped_lock<std::recursive_mutex> guard_;
};

/// What the library says about its last failure, outermost and innermost cause; clears it.
[[nodiscard]] std::string library_words();

/// Throws Failure (InputError when reading, SystemError when writing): `cannot WHAT (HDF5: its words)`.
template <class Failure>
[[noreturn]] void throw_library_failure(const std::string& what) {
  throw Failure("cannot " + what + " (HDF5: " + library_words() + ")");
}

template <class Failure = SystemError>
void check(herr_t result, const std::string& what) {
  if (result < 0) {
    throw_library_failure<Failure>(what);
  }
}

template <class Failure = SystemError>
hid_t check_id(hid_t id, const std::string& what) {
  if (id < 0) {
    throw_library_failure<Failure>(what);
  }
  return id;
}

/// An identifier of the library, closed at the end.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  [[nodiscard]] hid_t get() const noexcept { return id_; }
  /// Closes; what the library answers.
  herr_t reset() noexcept { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// A new property list of a class.
[[nodiscard]] Handle property_list(hid_t list_class);

/// A simple dataspace; rank 0 is a scalar.
[[nodiscard]] Handle dataspace(const std::vector<std::uint64_t>& extents);

}  // namespace trireme::hdf5
