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

/// On 64 bytes.
std::int64_t aligned_bytes(std::int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

bool is_vector(const Parameter& parameter) {
  return parameter.shard.extent.num_dims() < 2;
}

/// Elements between two places where this parameter may be cut.
std::int64_t cut_unit(const Parameter& parameter) {
  return is_vector(parameter) ? kernels::run_elements : parameter.shard.extent.columns();
}

/// The last entry that begins at or before the element; empty ones share their place with the next.
std::size_t entry_at(const BucketLayout& layout, std::int64_t element) {
  const auto after = std::upper_bound(layout.offsets.begin(), layout.offsets.end(), element);
  return static_cast<std::size_t>(after - layout.offsets.begin()) - 1;
}

/// The legal cut nearest to `element`. Monotone, so cuts made of rising numbers rise.
std::int64_t nearest_cut(const BucketLayout& layout, std::int64_t element) {
  if (element >= layout.elements) return layout.elements;
  const std::size_t index = entry_at(layout, element);
  const Parameter& parameter = *layout.parameters[index];
  const std::int64_t begin = layout.offsets[index];
  const std::int64_t end = index + 1 == layout.offsets.size() ? layout.elements : layout.offsets[index + 1];
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

tensor::Shard OwnedRows::rectangle() const {
  tensor::Shard rectangle = parameter->shard;
  if (rectangle.extent.num_dims() == 0) return rectangle;
  rectangle.offset[0] += begin;
  rectangle.extent[0] = end - begin;
  return rectangle;
}

Dtype weight_dtype(const Parameter& parameter, Dtype compute) {
  return is_vector(parameter) ? Dtype::f32 : compute;
}

WeightLayout lay_out_weights(const BucketLayout& layout, Dtype compute) {
  const auto element_bytes = [&](std::size_t entry) {
    return static_cast<std::int64_t>(size_of(weight_dtype(*layout.parameters[entry], compute)));
  };
  WeightLayout weights;
  for (std::size_t entry = 0; entry < layout.parameters.size(); ++entry) {
    weights.offsets.push_back(weights.bytes);
    weights.bytes += aligned_bytes(layout.parameters[entry]->shard.extent.size() * element_bytes(entry));
  }
  const auto byte_of = [&](std::int64_t element) {
    if (element >= layout.elements) return weights.bytes;
    const std::size_t entry = entry_at(layout, element);
    return weights.offsets[entry] + (element - layout.offsets[entry]) * element_bytes(entry);
  };
  for (const OwnedRows& rows : layout.owned) weights.owned.push_back(byte_of(rows.bucket_offset));
  for (const std::int64_t cut : layout.cuts) weights.cuts.push_back(byte_of(cut));
  return weights;
}

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
