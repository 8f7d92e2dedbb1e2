// Collectives over float arrays whose additions run in a fixed balanced binary tree over the ranks:
// ((0+1)+(2+3))+((4+5)+(6+7)); never in arrival order. For other counts the left subtree holds the largest power of
// two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/device.hpp"

namespace trireme::comm {

/// Contiguous pieces of an array, one per rank: piece p is [begins[p], begins[p + 1]).
using Cuts = std::vector<std::int64_t>;

class ReduceScatterSteps;

/// Which piece a rank owns after a reduce-scatter: its number with the bits reversed when the count is a power of two
/// (recursive halving, nearest partner first), else its number.
[[nodiscard]] int owned_piece(int rank, int num_ranks);

/// A reduce-scatter that goes on in the background of the computation: start it, poll it between actions, finish it.
/// Recursive halving (Thakur, Rabenseifner, Gropp 2005) for powers of two: log2(n) messages, (n-1)/n of the array sent;
/// for other counts every rank sends each piece to its owner, who adds in tree order.
/// Made once per bucket; start() may be called again and again.
class TreeReduceScatter {
 public:
  /// cuts: num ranks + 1 entries, the same on all ranks. tag must differ between objects that are in flight together.
  TreeReduceScatter(Communicator& communicator, const device::Device& device, Cuts cuts, int tag);
  ~TreeReduceScatter();

  /// Elements of scratch that start() needs.
  [[nodiscard]] std::int64_t scratch_elements() const;

  /// Begins to sum `data` (cuts.back() floats, host) over the ranks; afterwards this rank's piece of it holds the sum
  /// and the rest is undefined. data and scratch stay untouched by others until done.
  void start(float* data, float* scratch);
  /// Moves on without blocking; true when done. True if not started.
  bool poll();
  void finish();

 private:
  std::unique_ptr<ReduceScatterSteps> steps_;
};

/// Fills every rank's `data` with all pieces, each from its owner (owned_piece()). Copies only, so any order gives the
/// same bits. Runs in the background as TreeReduceScatter does: the same start, poll and finish.
class PieceAllGather {
 public:
  /// cuts: as above, of elements of so many bytes.
  PieceAllGather(Communicator& communicator, Cuts cuts, int tag, std::size_t element_bytes = sizeof(float));
  ~PieceAllGather();
  void start(void* data);
  bool poll();
  void finish();

 private:
  class Steps;
  std::unique_ptr<Steps> steps_;
};

}  // namespace trireme::comm
