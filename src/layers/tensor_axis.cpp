#include "trireme/layers/tensor_axis.hpp"

#include <algorithm>
#include <cstring>

#include "trireme/kernels/cast.hpp"
#include "trireme/kernels/reduce.hpp"

#include "layers/views.hpp"

namespace trireme::layers {

namespace {

using tensor::Tensor;

constexpr int row_tag = 11;
constexpr int kv_tag = 12;

/// `elements` in `pieces` equal pieces.
comm::Cuts even_cuts(std::int64_t elements, int pieces) {
  comm::Cuts cuts;
  for (int piece = 0; piece <= pieces; ++piece) cuts.push_back(elements * piece / pieces);
  return cuts;
}

std::int64_t largest_power_below(std::int64_t count) {
  std::int64_t power = 1;
  while (2 * power < count) power *= 2;
  return power;
}

/// Buffers that sum_tree() needs beside its target.
std::int64_t tree_levels(std::int64_t slices) {
  std::int64_t levels = 0;
  while ((std::int64_t{1} << levels) < slices) ++levels;
  return levels;
}

void copy(const device::Device& device, const Tensor& source, const Tensor& target) {
  TRIREME_EXPECT(source.size() == target.size());
  if (source.dtype != target.dtype) return kernels::cast(device, source, target);
  if (source.data != target.data && source.size() > 0) std::memcpy(target.data, source.data, source.bytes());
}

/// target becomes the sum of the partials of slices [first, first + count) in the balanced tree. A right subtree is
/// made in a buffer of `partials`, which the left one, then complete, no longer needs.
void sum_tree(const device::Device& device, std::int64_t first, std::int64_t count,
              const std::function<void(std::int64_t, const Tensor&)>& make, const Tensor& partials, std::int64_t level,
              const Tensor& target) {
  if (count == 1) return make(first, target);
  const std::int64_t left = largest_power_below(count);
  sum_tree(device, first, left, make, partials, level, target);
  const Tensor right = slice_view(partials.rows(level, 1), 0, target.shape);
  sum_tree(device, first + left, count - left, make, partials, level + 1, right);
  kernels::add_to(device, target.size(), right.as<float>(), target.as<float>());
}

}  // namespace

/// Both ways over one array cut in pieces.
struct TensorAxis::Exchange {
  Exchange(comm::Communicator& communicator, const device::Device& device, const comm::Cuts& cuts, int tag,
           Dtype gathered)
      : reduce(communicator, device, cuts, tag), gather(communicator, cuts, tag, size_of(gathered)) {
    const auto piece = static_cast<std::size_t>(comm::owned_piece(communicator.rank(), communicator.size()));
    own = cuts[piece + 1] - cuts[piece];
    rest = cuts.back() - own;
  }
  void sum(float* data, float* scratch) {
    reduce.start(data, scratch);
    reduce.finish();
  }
  void collect(void* data) {
    gather.start(data);
    gather.finish();
  }
  comm::TreeReduceScatter reduce;
  comm::PieceAllGather gather;
  std::int64_t own = 0;   // elements of the own piece
  std::int64_t rest = 0;  // of the others
};

TensorAxis::TensorAxis(comm::Communicator& communicator, const device::Device& device, const TensorAxisOptions& options)
    : communicator_(communicator), device_(device), options_(options) {
  TRIREME_EXPECT(options.slices > 0 && options.slices % size() == 0);
  const std::int64_t kv_slices = num_kv_slices();
  TRIREME_EXPECT(options.slices % kv_slices == 0 && options.kv_heads % kv_slices == 0);
  TRIREME_EXPECT(kv_slices % size() == 0 || size() % kv_slices == 0);
  if (size() > kv_slices) {
    const int sharers = size() / static_cast<int>(kv_slices);
    kv_group_ = communicator.split([sharers](int rank) { return rank / sharers; });
  }
}

TensorAxis::~TensorAxis() = default;

void TensorAxis::allocate(device::Arena& arena, std::int64_t max_rows) {
  const auto buffer = [&](const tensor::Shape& shape, Dtype dtype = Dtype::f32) {
    return tensor::allocate(arena, shape, dtype, device::MemoryClass::buffers);
  };
  const bool rounds_here = compute() != Dtype::f32 && size() == 1;
  const std::int64_t blocks = tree_levels(slices_per_rank()) + (rounds_here ? 1 : 0);
  if (blocks > 0) block_partials_ = buffer({blocks, std::min(block_rows, max_rows), options_.width});
  if (has_kv_partials()) {
    kv_partials_ = buffer({2, slices_per_rank(), max_rows, options_.kv_heads / num_kv_slices() * options_.head_width});
  }
  if (size() == 1) return;
  gathered_ = buffer({max_rows, options_.width}, compute());
  partial_ = buffer({max_rows, options_.width});
  exchange_scratch_ = buffer({scratch_elements(max_rows)});
}

std::int64_t TensorAxis::scratch_elements(std::int64_t max_rows) {
  // Every piece of n + t rows is one row longer than that of n, so the largest need is among the last t numbers.
  std::int64_t elements = 0;
  for (std::int64_t rows = std::max<std::int64_t>(max_rows - size() + 1, 0); rows <= max_rows; ++rows) {
    elements = std::max(elements, row_exchange(rows).reduce.scratch_elements());
    if (kv_group_) elements = std::max(elements, kv_exchange(rows * options_.head_width).reduce.scratch_elements());
  }
  return elements;
}

Range TensorAxis::slices() const noexcept {
  return {rank() * slices_per_rank(), slices_per_rank()};
}

std::int64_t TensorAxis::num_kv_slices() const noexcept {
  return std::min(options_.slices, options_.kv_heads);
}

Range TensorAxis::kv_slices() const noexcept {
  const auto kv_slice_of = [&](std::int64_t slice) { return slice * num_kv_slices() / options_.slices; };
  const std::int64_t first = kv_slice_of(slices().begin);
  return {first, kv_slice_of(slices().end() - 1) - first + 1};
}

bool TensorAxis::counts_kv() const noexcept {
  return !kv_group_ || kv_group_->rank() == 0;
}

Range TensorAxis::own_rows(std::int64_t rows) const {
  const std::int64_t piece = comm::owned_piece(rank(), size());
  const std::int64_t begin = rows * piece / size();
  return {begin, rows * (piece + 1) / size() - begin};
}

std::int64_t TensorAxis::max_own_rows(std::int64_t rows) const {
  // As in scratch_elements().
  std::int64_t largest = 0;
  for (std::int64_t n = std::max<std::int64_t>(rows - size() + 1, 0); n <= rows; ++n) {
    largest = std::max(largest, own_rows(n).count);
  }
  return largest;
}

Range TensorAxis::row_slice(std::int64_t rows, std::int64_t k) const {
  const std::int64_t number = comm::owned_piece(rank(), size()) * slices_per_rank() + k;
  const std::int64_t begin = rows * number / options_.slices;
  return {begin - own_rows(rows).begin, rows * (number + 1) / options_.slices - begin};
}

Tensor TensorAxis::gather_rows(const Tensor& own, std::int64_t rows, Traffic traffic) {
  TRIREME_EXPECT(own.shape.columns() == options_.width && own.shape[0] == own_rows(rows).count);
  if (size() == 1) return own;
  const Range range = own_rows(rows);
  const Tensor all = gathered_.rows(0, rows);
  copy(device_, own, all.rows(range.begin, range.count));
  Exchange& exchange = row_exchange(rows);
  exchange.collect(all.data);
  count(traffic, exchange.own * (size() - 1), compute());
  return all;
}

void TensorAxis::sum_block(std::int64_t begin, const MakePartial& make, const Tensor& target) const {
  const auto make_block = [&](std::int64_t k, const Tensor& partial) { make(k, begin, partial); };
  if (target.dtype == Dtype::f32) {
    return sum_tree(device_, 0, slices_per_rank(), make_block, block_partials_, 0, target);
  }
  const std::int64_t last = block_partials_.shape[0] - 1;
  const Tensor sum = slice_view(block_partials_.rows(last, 1), 0, target.shape);
  sum_tree(device_, 0, slices_per_rank(), make_block, block_partials_, 0, sum);
  kernels::cast(device_, sum, target);
}

void TensorAxis::sum_slices(std::int64_t rows, const MakePartial& make, const Tensor& own, Traffic traffic) {
  const Tensor partial = partial_rows(rows, own);
  const bool in_one_block = options_.slices == 1 && compute() == Dtype::f32;
  const std::int64_t block = in_one_block ? rows : block_rows;
  for (std::int64_t begin = 0; begin < rows; begin += block) {
    sum_block(begin, make, partial.rows(begin, std::min(block, rows - begin)));
  }
  reduce_rows(partial, own, traffic);
}

Tensor TensorAxis::partial_rows(std::int64_t rows, const Tensor& own) const {
  return size() == 1 ? own : partial_.rows(0, rows);
}

void TensorAxis::reduce_rows(const Tensor& partial, const Tensor& own, Traffic traffic) {
  const std::int64_t rows = partial.shape[0];
  if (size() > 1) {
    Exchange& exchange = row_exchange(rows);
    exchange.sum(partial.as<float>(), exchange_scratch_.as<float>());
    count(traffic, exchange.rest);
  }
  const Range range = own_rows(rows);
  copy(device_, partial.rows(range.begin, range.count), own);
}

void TensorAxis::sum_row_slices(float* parts, std::int64_t elements, Traffic traffic) {
  if (size() == 1) return kernels::tree_sum(device_, parts, options_.slices, elements);
  const std::int64_t mine = slices_per_rank() * elements;
  small_.resize(static_cast<std::size_t>(mine * size()));
  communicator_.all_gather(parts, static_cast<std::size_t>(mine) * sizeof(float), small_.data());
  // From the order of ranks to that of the rows. Who owns what is its own inverse: pairs are swapped.
  for (int rank = 0; rank < size(); ++rank) {
    const int piece = comm::owned_piece(rank, size());
    float* const from = small_.data() + rank * mine;
    if (rank < piece) std::swap_ranges(from, from + mine, small_.data() + piece * mine);
  }
  kernels::tree_sum(device_, small_.data(), options_.slices, elements);
  std::copy_n(small_.data(), elements, parts);
  count(traffic, mine * (size() - 1));
}

bool TensorAxis::has_kv_partials() const noexcept {
  return compute() != Dtype::f32 && options_.slices > num_kv_slices();
}

Tensor TensorAxis::kv_partials(int which, std::int64_t rows) const {
  const std::int64_t heads = options_.kv_heads / num_kv_slices();
  const Tensor whole = kv_partials_.rows(which, 1);
  return slice_view(whole, 0, {slices_per_rank() * rows, heads, options_.head_width});
}

void TensorAxis::sum_kv_group(const Tensor& values, Traffic traffic) {
  if (!kv_group_) return;
  Exchange& exchange = kv_exchange(values.size());
  exchange.sum(values.as<float>(), exchange_scratch_.as<float>());
  exchange.collect(values.as<float>());
  count(traffic, exchange.rest + exchange.own * (kv_group_->size() - 1));
}

void TensorAxis::gather_slices(const float* mine, std::int64_t elements, float* all, Traffic traffic) {
  const std::int64_t mine_elements = slices_per_rank() * elements;
  if (size() == 1) {
    std::copy_n(mine, mine_elements, all);
    return;
  }
  communicator_.all_gather(mine, static_cast<std::size_t>(mine_elements) * sizeof(float), all);
  count(traffic, mine_elements * (size() - 1));
}

TensorAxis::Exchange& TensorAxis::row_exchange(std::int64_t rows) {
  std::unique_ptr<Exchange>& exchange = row_exchanges_[rows];
  if (!exchange) {
    comm::Cuts cuts = even_cuts(rows, size());
    for (std::int64_t& cut : cuts) cut *= options_.width;
    exchange = std::make_unique<Exchange>(communicator_, device_, cuts, row_tag, compute());
  }
  return *exchange;
}

TensorAxis::Exchange& TensorAxis::kv_exchange(std::int64_t elements) {
  std::unique_ptr<Exchange>& exchange = kv_exchanges_[elements];
  if (!exchange) {
    exchange =
        std::make_unique<Exchange>(*kv_group_, device_, even_cuts(elements, kv_group_->size()), kv_tag, Dtype::f32);
  }
  return *exchange;
}

void TensorAxis::count(Traffic traffic, std::int64_t sent_elements, Dtype dtype) {
  TrafficCount& of_kind = traffic_[static_cast<std::size_t>(traffic)];
  ++of_kind.calls;
  of_kind.sent_bytes += sent_elements * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace trireme::layers
