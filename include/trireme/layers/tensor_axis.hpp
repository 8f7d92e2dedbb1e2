// The tensor axis, as the layers use it: which slices and which rows are this rank's, and how they meet.
// N rows (tokens) of a micro-batch, D width, S slices, t ranks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/tree.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::layers {

struct TensorAxisOptions {
  std::int64_t slices = 1;      ///< S: of heads, mlp width and vocabulary; a multiple of the axis
  std::int64_t kv_heads = 1;    ///< divides S, or is a multiple of it
  std::int64_t head_width = 0;  ///< of one key/value head
  std::int64_t width = 0;       ///< D
  Dtype compute = Dtype::f32;   ///< of activations; sums over slices are made in fp32 and rounded once
};

/// Contiguous rows or slices.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  [[nodiscard]] std::int64_t end() const noexcept { return begin + count; }
};

/// Who communicates: the traffic is counted by it.
enum class Traffic : std::uint8_t { embedding, attention, mlp, norms, head };
inline constexpr int num_traffic_kinds = 5;

/// Exchanges of this rank along the tensor axis since construction. A reduce-scatter sends what is not this rank's own
/// piece; a gather sends the own piece once for each other rank.
struct TrafficCount {
  std::int64_t calls = 0;
  std::int64_t sent_bytes = 0;
};

/// Every dimension that the axis splits is computed in S slices, S / t of them here, one after the other; sums over
/// slices run in the balanced tree over all S, on the rank first, then across ranks. So one rank makes the very calls
/// that t ranks spread, and the bits do not depend on t: where S / t is a power of two, so that the tree over a rank's
/// slices is a subtree of that over all (the left subtree holds the largest power of two).
///
/// Between the parts that are split by slices the rows are split instead (sequence parallel, Korthikanti et al. 2022):
/// the N rows are cut in S row slices at N s / S, and a rank holds those of the piece that the reduce-scatter leaves it
/// (comm::owned_piece). With t = 1 nothing is copied and nothing is sent. Every call that takes rows is collective over
/// the axis.
class TensorAxis {
 public:
  /// Collective.
  TensorAxis(comm::Communicator& communicator, const device::Device& device, const TensorAxisOptions& options);
  ~TensorAxis();
  TensorAxis(const TensorAxis&) = delete;
  TensorAxis& operator=(const TensorAxis&) = delete;

  /// Takes the buffers for micro-batches of up to max_rows rows: two of [N, D] (gathered rows, fp32 partial sums) and
  /// the reduce-scatter's scratch with t > 1; log2(s) of [block_rows, D] fp32 with s = S / t, and one more where a sum
  /// is rounded to half precision on the rank; kv_partials() where it is wanted.
  void allocate(device::Arena& arena, std::int64_t max_rows);

  [[nodiscard]] int size() const { return communicator_.size(); }
  [[nodiscard]] int rank() const { return communicator_.rank(); }
  [[nodiscard]] Dtype compute() const noexcept { return options_.compute; }
  [[nodiscard]] std::int64_t num_slices() const noexcept { return options_.slices; }
  /// This rank's slices.
  [[nodiscard]] Range slices() const noexcept;
  /// Slices of key/value heads: min(S, kv_heads).
  [[nodiscard]] std::int64_t num_kv_slices() const noexcept;
  /// Those that this rank's slices read; a slice may be on several ranks.
  [[nodiscard]] Range kv_slices() const noexcept;
  /// True when this rank's copy of its key/value slices stands for all.
  [[nodiscard]] bool counts_kv() const noexcept;
  /// The ranks that hold the same key/value slices; nullptr: this one alone.
  [[nodiscard]] comm::Communicator* kv_group() const noexcept { return kv_group_.get(); }

  /// This rank's rows of N.
  [[nodiscard]] Range own_rows(std::int64_t rows) const;
  /// The largest own_rows(n).count for n <= rows.
  [[nodiscard]] std::int64_t max_own_rows(std::int64_t rows) const;
  /// Row slice k (0 ... S / t - 1) of the own rows, counted from the first own row.
  [[nodiscard]] Range row_slice(std::int64_t rows, std::int64_t k) const;

  /// All N rows of which each rank has its own [n, D]: the argument itself with t = 1, else a buffer that the next call
  /// overwrites.
  [[nodiscard]] tensor::Tensor gather_rows(const tensor::Tensor& own, std::int64_t rows, Traffic traffic);

  /// Sums over all slices what `make` writes for each of this rank's, and leaves every rank its own rows.
  /// make(k, begin, target) sets target [count, D] to the contribution of slice k (0 ... S / t - 1) to rows begin ...
  /// begin + count - 1; it is called for blocks of rows so that the partial sums stay in cache (all rows at once with
  /// S = 1 in fp32). target is fp32.
  /// own: [n, D], written.
  using MakePartial = std::function<void(std::int64_t k, std::int64_t begin, const tensor::Tensor& target)>;
  void sum_slices(std::int64_t rows, const MakePartial& make, const tensor::Tensor& own, Traffic traffic);
  /// One block of it: target [count, D] (fp32, or rounded to its type) becomes the sum over this rank's slices alone.
  /// count <= block_rows, unless S = 1 and target is fp32.
  void sum_block(std::int64_t begin, const MakePartial& make, const tensor::Tensor& target) const;
  /// Its parts, for a caller that fills the partial sum [N, D] of this rank's slices by itself: where to put it (`own`
  /// with t = 1, else fp32), and the sum over ranks that follows.
  [[nodiscard]] tensor::Tensor partial_rows(std::int64_t rows, const tensor::Tensor& own) const;
  void reduce_rows(const tensor::Tensor& partial, const tensor::Tensor& own, Traffic traffic);

  /// parts [S / t, elements], one of each row slice of this rank: the first becomes the sum over all S row slices, on
  /// every rank; the others are scratch. For small arrays: what each rank has is gathered.
  void sum_row_slices(float* parts, std::int64_t elements, Traffic traffic);
  /// True where the gradients of keys and values are sums over query slices, while activations are half precision: then
  /// the sums are made in kv_partials().
  [[nodiscard]] bool has_kv_partials() const noexcept;
  /// Room for one of two ([keys, values]) arrays of partial sums: [s rows, heads of a kv slice, K] fp32.
  [[nodiscard]] tensor::Tensor kv_partials(int which, std::int64_t rows) const;
  /// values [N, heads of a kv slice, K] fp32, partial sums of this rank's only kv slice: adds those of the ranks that
  /// share it, alike on each; nothing when no other rank reads this rank's kv slices.
  void sum_kv_group(const tensor::Tensor& values, Traffic traffic);
  /// mine [S / t, elements] -> all [S, elements], by slice number, on every rank.
  void gather_slices(const float* mine, std::int64_t elements, float* all, Traffic traffic);

  [[nodiscard]] const std::array<TrafficCount, num_traffic_kinds>& traffic() const noexcept { return traffic_; }
  /// Rows of a block of sum_slices(): a constant, so that no memory size changes the order of a sum.
  static constexpr std::int64_t block_rows = 256;

 private:
  struct Exchange;
  using Exchanges = std::map<std::int64_t, std::unique_ptr<Exchange>>;
  Exchange& row_exchange(std::int64_t rows);
  Exchange& kv_exchange(std::int64_t elements);
  [[nodiscard]] std::int64_t slices_per_rank() const { return options_.slices / size(); }
  [[nodiscard]] std::int64_t scratch_elements(std::int64_t max_rows);
  void count(Traffic traffic, std::int64_t sent_elements, Dtype dtype = Dtype::f32);

  comm::Communicator& communicator_;
  const device::Device& device_;
  TensorAxisOptions options_;
  std::unique_ptr<comm::Communicator> kv_group_;
  Exchanges row_exchanges_;  // by number of rows
  Exchanges kv_exchanges_;   // by number of elements
  std::array<TrafficCount, num_traffic_kinds> traffic_{};
  tensor::Tensor gathered_;
  tensor::Tensor partial_;
  tensor::Tensor block_partials_;  // [log2(S / t), block_rows, D], and one more
  tensor::Tensor kv_partials_;     // [2, s, max_rows, heads of a kv slice * K], or empty
  tensor::Tensor exchange_scratch_;
  std::vector<float> small_;
};

}  // namespace trireme::layers
