// Element types as they stand in files.
#pragma once

#include <optional>
#include <string>

#include <hdf5.h>

#include "trireme/base/dtype.hpp"

#include "hdf5/library.hpp"

namespace trireme::hdf5 {

/// The attribute that tells bf16 (stored as unsigned 16-bit integers, which every program can open) from integers.
inline constexpr const char* dtype_attribute = "dtype";

/// The little-endian type of the elements in files, which is also that in memory.
[[nodiscard]] Handle file_type(Dtype dtype);

/// The Dtype stored as `type`, or nothing when it is none of ours; bf16 comes out as u16.
[[nodiscard]] std::optional<Dtype> dtype_stored_as(hid_t type);

/// A type as a person reads it: `big-endian 4-byte float`, `string`.
[[nodiscard]] std::string describe_type(hid_t type);

}  // namespace trireme::hdf5
