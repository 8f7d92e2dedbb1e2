// Tensors of awkward sizes whose every element is a pure function of name and global index, in pieces as ranks hold
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint.hpp"

namespace trireme::checkpoint::test {

using tensor::Shape;
using tensor::Shard;

/// Vectors, matrices of one and of many tiles, one row, four dimensions; fp32, bf16 and 64-bit integers.
[[nodiscard]] std::vector<TensorInfo> sample_tensors();

[[nodiscard]] Metadata sample_metadata(std::int64_t step);

/// The element of global index `index`, as bytes.
void write_element(const TensorInfo& tensor, std::int64_t index, void* to);

/// Rectangles for the flat range [begin, end) of a tensor: as an optimiser that cuts the concatenated parameters holds
/// it.
[[nodiscard]] std::vector<Shard> cut_flat(const Shape& shape, std::int64_t begin, std::int64_t end);
/// Part `part` of `num_parts` along a dimension (may be empty).
[[nodiscard]] Shard cut_along(const Shape& shape, int dim, std::int64_t part, std::int64_t num_parts);

/// The pieces of one rank with their memory.
class Holding {
 public:
  /// A piece with the right elements.
  void add(const TensorInfo& tensor, const Shard& rectangle);
  /// A piece of zeros, to be read into.
  void add_empty(const TensorInfo& tensor, const Shard& rectangle);
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  [[nodiscard]] std::span<Piece> pieces() { return pieces_; }
  /// Name of the first piece with a wrong element; empty when all are right.
  [[nodiscard]] std::string first_wrong() const;

 private:
  std::vector<Piece> pieces_;
  std::deque<std::vector<std::byte>> memory_;
};

/// All sample tensors whole.
[[nodiscard]] Holding everything();
/// The part of one of several ranks: flat cuts of vectors, rows or columns of others.
[[nodiscard]] Holding part_of(int rank, int num_ranks);
/// Zeros for all sample tensors, cut along the last dimension.
[[nodiscard]] Holding empty_columns(int rank, int num_ranks);

/// Saves `everything()` as that step by one rank; returns the step's folder.
std::string save_sample(const std::string& folder, std::int64_t step);

/// Reads everything and compares it; empty when right, else the error's text or the first wrong tensor.
[[nodiscard]] std::string load_problem(const std::string& path);

/// Every file under a folder with its bytes, to see that nothing changed.
[[nodiscard]] std::string contents(const std::string& folder);

}  // namespace trireme::checkpoint::test
