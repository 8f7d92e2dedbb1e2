#include "trireme/optim/bucket_layout.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/kernels/reduce.hpp"

namespace trireme::optim {
namespace {

using tensor::Parameter;

constexpr std::int64_t alignment_elements = 16;  // 64 bytes of fp32

std::int64_t aligned(std::int64_t elements) {
  return (elements + alignment_elements - 1) / alignment_elements * alignment_elements;
}

bool is_vector(const Parameter& parameter) {
  return parameter.shard.extent.num_dims() < 2;
}

/// Elements between two places where this parameter may be cut.
std::int64_t cut_unit(const Parameter& parameter) {
  return is_vector(parameter) ? kernels::run_elements : parameter.shard.extent.columns();
}

/// The legal cut nearest to `element`. Monotone, so cuts made of rising numbers rise.
std::int64_t nearest_cut(const BucketLayout& layout, std::int64_t element) {
  if (element >= layout.elements) return layout.elements;
  // The last parameter that begins at or before the element; empty ones share their place with the next.
  const auto after = std::upper_bound(layout.offsets.begin(), layout.offsets.end(), element);
  const auto index = static_cast<std::size_t>(after - layout.offsets.begin()) - 1;
  const Parameter& parameter = *layout.parameters[index];
  const std::int64_t begin = layout.offsets[index];
  const std::int64_t end = after == layout.offsets.end() ? layout.elements : *after;
  const std::int64_t size = parameter.shard.extent.size();
  if (size == 0) return begin;

  const std::int64_t unit = cut_unit(parameter);
  const std::int64_t below = begin + std::min(element - begin, size - 1) / unit * unit;
  const std::int64_t above = below + unit >= begin + size ? end : below + unit;
  return element - below <= above - element ? below : above;
}

std::vector<OwnedRows> owned_rows(const BucketLayout& layout) {
  std::vector<OwnedRows> rows;
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    Parameter& parameter = *layout.parameters[i];
    const std::int64_t offset = layout.offsets[i];
    const std::int64_t first = std::max(layout.own_begin, offset);
    const std::int64_t last = std::min(layout.own_end, offset + parameter.shard.extent.size());
    if (first >= last) continue;
    const std::int64_t row_elements = is_vector(parameter) ? 1 : parameter.shard.extent.columns();
    TRIREME_EXPECT((first - offset) % row_elements == 0 && (last - offset) % row_elements == 0);
    rows.push_back({&parameter, (first - offset) / row_elements, (last - offset) / row_elements, first, last - first});
  }
  return rows;
}

}  // namespace

bool BucketLayout::gradient_only() const {
  return !parameters.empty() && !parameters.front()->tied_to.empty();
}

bool BucketLayout::follows() const {
  return !parameters.empty() && parameters.front()->follows;
}

BucketLayout lay_out_bucket(tensor::ParameterStore& store, int bucket, int rank, int num_ranks) {
  BucketLayout layout;
  layout.parameters = store.bucket(bucket);
  for (const Parameter* parameter : layout.parameters) {
    // A piece of more than two dimensions would be no rectangle.
    TRIREME_EXPECT(parameter->shard.extent.num_dims() <= 2);
    TRIREME_EXPECT(parameter->tied_to == layout.parameters.front()->tied_to);
    TRIREME_EXPECT(parameter->follows == layout.parameters.front()->follows);
    layout.offsets.push_back(layout.elements);
    layout.elements += aligned(parameter->shard.extent.size());
  }
  for (int piece = 0; piece <= num_ranks; ++piece) {
    layout.cuts.push_back(nearest_cut(layout, layout.elements * piece / num_ranks));
  }
  const auto own = static_cast<std::size_t>(comm::owned_piece(rank, num_ranks));
  layout.own_begin = layout.cuts[own];
  layout.own_end = layout.cuts[own + 1];
  layout.owned = owned_rows(layout);
  return layout;
}

}  // namespace trireme::optim
