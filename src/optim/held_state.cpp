#include "trireme/optim/held_state.hpp"

#include <array>

#include "trireme/kernels/fingerprint.hpp"

namespace trireme::optim {
namespace {

using tensor::Parameter;

void add_weights(std::vector<HeldArray>& arrays, const BucketLayout& layout) {
  if (layout.gradient_only()) return;
  for (const Parameter* parameter : layout.parameters) {
    if (parameter->weight.empty() || parameter->weight.size() == 0) continue;
    arrays.push_back({parameter, StatePart::weights, parameter->shard, parameter->weight});
  }
}

}  // namespace

std::string_view name_of(StatePart part) {
  constexpr std::array<std::string_view, num_state_parts> names{"weights", "masters", "first moments",
                                                                "second moments"};
  return names[static_cast<std::size_t>(part)];
}

std::vector<HeldArray> held_state(const Weights& weights, Optimizer& optimizer) {
  std::vector<HeldArray> arrays;
  for (int bucket = 0; bucket < weights.num_buckets(); ++bucket) add_weights(arrays, weights.layout(bucket));
  for (const StatePiece& piece : optimizer.state()) {
    const auto add = [&](StatePart part, float* data) {
      if (data == nullptr || piece.rectangle.extent.size() == 0) return;
      arrays.push_back({piece.parameter, part, piece.rectangle, {.data = data, .shape = piece.rectangle.extent}});
    };
    const bool within_weights = weights.options().compute == Dtype::f32 && !piece.parameter->weight.empty();
    if (!within_weights) add(StatePart::masters, piece.weight);
    add(StatePart::first_moment, piece.first_moment);
    add(StatePart::second_moment, piece.second_moment);
  }
  return arrays;
}

std::uint64_t fingerprint_of(const device::Device& device, const HeldArray& array) {
  const std::int64_t row_stride = array.parameter->global_shape.columns();
  const tensor::Shape& offset = array.place.offset;
  std::int64_t first = 0;
  if (offset.num_dims() == 1) first = offset[0];
  if (offset.num_dims() == 2) first = offset[0] * row_stride + offset[1];
  return kernels::fingerprint(device, array.values, static_cast<std::uint64_t>(first), row_stride);
}

}  // namespace trireme::optim
