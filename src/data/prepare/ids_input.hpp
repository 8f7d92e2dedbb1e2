// Files of ready ids: .npy and Megatron's .bin with its .idx.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/prepare/piece.hpp"

namespace trireme::data {

/// How an id is stored, little endian.
struct IdType {
  std::int64_t bytes = 0;
  bool is_signed = false;
};

/// One input of ready ids.
class IdsInput {
 public:
  virtual ~IdsInput() = default;
  [[nodiscard]] virtual const std::string& path() const = 0;
  [[nodiscard]] virtual IdType type() const = 0;
  [[nodiscard]] virtual std::int64_t num_ids() const = 0;
  /// The stored bytes of ids [range.begin, range.end).
  [[nodiscard]] virtual std::string read(Range range) const = 0;
  /// The ids of the range with which documents begin, ascending.
  [[nodiscard]] virtual std::vector<std::int64_t> document_starts(Range range) const = 0;
};

/// A 1-D array of integers in NumPy's format, versions 1 to 3; one document. Throws InputError naming file and header.
[[nodiscard]] std::unique_ptr<IdsInput> open_npy(const std::string& path);

/// A dataset of Megatron-LM (MMIDIDX version 1); `path` is the prefix, or one of its two files. Documents are those of
/// the index. Throws InputError naming file, field and value.
[[nodiscard]] std::unique_ptr<IdsInput> open_megatron(const std::string& path);

/// Chooses by name.
[[nodiscard]] std::unique_ptr<IdsInput> open_ids(const std::string& path);

}  // namespace trireme::data
