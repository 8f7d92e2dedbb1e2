// Files of ready ids for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "trireme/io/file.hpp"

namespace trireme::test {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string bytes_of_one(T value) {
  return bytes_of(std::vector<T>{value});
}

/// A .npy file of version 1 with this header dictionary.
inline std::string npy(const std::string& dictionary, const std::string& data) {
  return std::string("\x93NUMPY\x01\x00", 8) + bytes_of_one(static_cast<std::uint16_t>(dictionary.size())) +
         dictionary + data;
}

template <class T>
void write_npy(const std::string& path, const std::string& type, const std::vector<T>& values) {
  const std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}   \n", type, values.size());
  io::write_text_atomically(path, npy(dictionary, bytes_of(values)));
}

struct MegatronIndex {
  std::uint64_t version = 1;
  std::uint8_t type = 8;  ///< uint16
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> pointers;
  std::vector<std::int64_t> documents;
  [[nodiscard]] std::string bytes() const {
    return std::string("MMIDIDX\0\0", 9) + bytes_of_one(version) + bytes_of_one(type) +
           bytes_of_one(static_cast<std::uint64_t>(lengths.size())) +
           bytes_of_one(static_cast<std::uint64_t>(documents.size())) + bytes_of(lengths) + bytes_of(pointers) +
           bytes_of(documents);
  }
};

/// Sequences of these lengths with ids 0, 1, 2, ...; documents begin with these sequences.
inline MegatronIndex write_megatron(const std::string& prefix, const std::vector<std::int32_t>& lengths,
                                    const std::vector<std::int64_t>& documents) {
  MegatronIndex index{.lengths = lengths, .pointers = {}, .documents = documents};
  std::vector<std::uint16_t> ids;
  for (const std::int32_t length : lengths) {
    index.pointers.push_back(static_cast<std::int64_t>(2 * ids.size()));
    for (std::int32_t i = 0; i < length; ++i) ids.push_back(static_cast<std::uint16_t>(ids.size()));
  }
  index.documents.push_back(static_cast<std::int64_t>(lengths.size()));
  io::write_text_atomically(prefix + ".bin", bytes_of(ids));
  io::write_text_atomically(prefix + ".idx", index.bytes());
  return index;
}

}  // namespace trireme::test
