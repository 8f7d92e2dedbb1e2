// Buckets: parameters that stand together in memory, are reduced together, and are shared out among the ranks of a
// group.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/comm/tree.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::optim {

/// Part of an entry within its bucket that this rank owns: rows of the shard, all columns (for vectors: elements).
struct OwnedRows {
  tensor::Parameter* parameter = nullptr;
  std::int64_t begin = 0;  ///< first row (of shard.extent's rows; a vector counts its elements as rows)
  std::int64_t end = 0;
  std::int64_t bucket_offset = 0;  ///< of the first owned element within the bucket
  std::int64_t elements = 0;

  /// Their place in the whole tensor.
  [[nodiscard]] tensor::Shard rectangle() const;
};

/// The entries of one bucket, concatenated, and how the ranks of a group share them.
/// Cuts fall on row borders of matrices and on multiples of 1,024 elements of vectors, as evenly as that allows, so
/// that a piece of a tensor is a rectangle and a run of the gradient norm has one owner.
struct BucketLayout {
  std::vector<tensor::Parameter*> parameters;
  std::vector<std::int64_t> offsets;  ///< of each entry; each starts on 16 elements; what gaps hold is never read
  std::int64_t elements = 0;
  comm::Cuts cuts;             ///< num ranks + 1 entries
  std::int64_t own_begin = 0;  ///< this rank's piece: what it reduces, updates and keeps
  std::int64_t own_end = 0;
  std::vector<OwnedRows> owned;  ///< the rows in it

  [[nodiscard]] std::int64_t own_elements() const noexcept { return own_end - own_begin; }
  /// True for a second gradient (tied_to): there are no weights.
  [[nodiscard]] bool gradient_only() const;
  /// True when another stage has what this bucket holds: weights updated there, or with gradient_only() a gradient
  /// made there.
  [[nodiscard]] bool follows() const;
};

/// Element type of an entry's weights where the model computes in `compute`: matrices have it, vectors (norms, biases)
/// stay fp32.
[[nodiscard]] Dtype weight_dtype(const tensor::Parameter& parameter, Dtype compute);

/// Where the weights of a bucket lie, in bytes, when they are held in `compute`: the entries of the bucket in their
/// order, each on 64 bytes, and its cuts.
struct WeightLayout {
  std::vector<std::int64_t> offsets;  ///< of each entry
  std::vector<std::int64_t> owned;    ///< of each of the bucket's owned rows
  comm::Cuts cuts;
  std::int64_t bytes = 0;
};
[[nodiscard]] WeightLayout lay_out_weights(const BucketLayout& layout, Dtype compute);

/// Lays out bucket `bucket` of the store for rank `rank` of `num_ranks`. A pure function.
[[nodiscard]] BucketLayout lay_out_bucket(tensor::ParameterStore& store, int bucket, int rank, int num_ranks);

}  // namespace trireme::optim
