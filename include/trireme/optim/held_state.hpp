// All of the training state that a rank holds, array by array: also what others hold as well.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trireme/optim/optimizer.hpp"
#include "trireme/optim/weights.hpp"

namespace trireme::optim {

enum class StatePart : std::uint8_t {
  weights,        ///< what the layers read: all of the entry
  masters,        ///< fp32, of the own piece, where that is memory of its own
  first_moment,   ///< of the own piece
  second_moment,  ///< of the own piece
};
inline constexpr int num_state_parts = 4;
[[nodiscard]] std::string_view name_of(StatePart part);

/// An array of the state.
struct HeldArray {
  const tensor::Parameter* parameter = nullptr;
  StatePart part = StatePart::weights;
  tensor::Shard place;    ///< within the global shape
  tensor::Tensor values;  ///< [place.extent]
};

/// Every array that this rank holds and that is not empty, in an order that ranks with the same entries share. No
/// weights where they are sharded: they are there while they are used.
[[nodiscard]] std::vector<HeldArray> held_state(const Weights& weights, Optimizer& optimizer);

/// The array's part of the fingerprint of the whole tensor (kernels/fingerprint.hpp).
[[nodiscard]] std::uint64_t fingerprint_of(const device::Device& device, const HeldArray& array);

}  // namespace trireme::optim
