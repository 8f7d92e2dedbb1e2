// Attributes of files that come from strangers.
#pragma once

#include <cstdint>
#include <string>

#include <hdf5.h>

namespace trireme::hdf5 {

/// An attribute of an open object; `owner` is what messages call the object. All throw InputError when the attribute is
/// missing or of another kind.
struct AttributeName {
  hid_t object;
  std::string owner;
  std::string name;
};

[[nodiscard]] std::string read_text(const AttributeName& attribute);
[[nodiscard]] std::int64_t read_integer(const AttributeName& attribute);
[[nodiscard]] double read_real(const AttributeName& attribute);

}  // namespace trireme::hdf5
