// What a rank computes, reads and sends in the passes of a chunk.
// N rows of a micro-batch, D width, F mlp width, V vocabulary, t tensor ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/base/dtype.hpp"
#include "trireme/model/counts.hpp"
#include "trireme/model/stage.hpp"

namespace trireme::plan {

/// Messages that a rank sends.
struct Sent {
  double messages = 0;
  double bytes = 0;
  Sent& operator+=(const Sent& other);
};

struct Work {
  double flop = 0;
  double memory_bytes = 0;  ///< beside the operands of matrix products
  Sent tensor;              ///< along the tensor axis; nothing is computed meanwhile
  Work& operator+=(const Work& other);
};

struct PassWork {
  Work forward, backward_input, backward_weight;
};

/// Where a chunk is computed.
struct WorkShape {
  std::int64_t rows = 0;       ///< N
  int tensor_ranks = 1;        ///< t
  Dtype compute = Dtype::f32;  ///< of activations and their gradients
};

/// One micro-batch of a chunk on one tensor rank. Each array that a kernel passes over counts once per reading and
/// writing, with the bytes of its type: logits and gradients of weights are fp32. Every gather or reduction of N rows
/// sends (t - 1) / t of them, gathers in the type that is computed in, reductions in fp32; a block has two of each in
/// the forward pass, two of each in the input pass, and gathers four times in the weight pass. Blocks recomputed in
/// full do everything in the input pass. Left out: messages and sums of single rows.
[[nodiscard]] PassWork chunk_work(const model::ModelOptions& options, const model::ChunkRange& chunk,
                                  const model::RecomputeOptions& recompute, const WorkShape& shape);

/// Messages of a reduce-scatter or gather among `ranks`: log2 of a power of two, else one to each other.
[[nodiscard]] double messages_of_exchange(int ranks);
/// The part of an array that a rank sends in one: (ranks - 1) / ranks.
[[nodiscard]] double share_of_exchange(int ranks);

}  // namespace trireme::plan
