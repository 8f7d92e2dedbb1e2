// Names and constants of the dataset format, which FORMAT.md describes.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/base/dtype.hpp"

namespace trireme::data {

inline constexpr char format_name[] = "trireme dataset";
inline constexpr std::int64_t format_version = 1;

/// Bytes of data that one hash covers.
inline constexpr std::int64_t hash_block_bytes = std::int64_t{1} << 20;

/// Largest vocabulary: ids are int32 in memory.
inline constexpr std::int64_t max_vocab = std::int64_t{1} << 31;

/// The smallest type of the format that holds ids below `vocab`.
[[nodiscard]] inline Dtype token_dtype(std::int64_t vocab) {
  if (vocab <= 256) return Dtype::u8;
  return vocab <= 65536 ? Dtype::u16 : Dtype::i32;
}

[[nodiscard]] inline std::int64_t num_hash_blocks(std::int64_t bytes) {
  return (bytes + hash_block_bytes - 1) / hash_block_bytes;
}

/// The dataset that holds the hashes of `name`.
[[nodiscard]] inline std::string hashes_of(const std::string& name) {
  return name + "_hashes";
}

/// The root's attribute that holds the hash of `name`, or of its table of hashes.
[[nodiscard]] inline std::string hash_attribute_of(const std::string& name) {
  return name + "_hash";
}

}  // namespace trireme::data
