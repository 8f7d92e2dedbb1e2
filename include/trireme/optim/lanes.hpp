// How a step's micro-batches are grouped so that their gradients are added in one order on every data size.
#pragma once

#include <cstdint>

namespace trireme::optim {

/// Lanes for `num_micro_batches` of a step, a multiple of data_size: `requested` if not 0, else the largest power of
/// two, at most 8, that divides the number when invariant, else data_size (also when invariant, on data sizes that do
/// not divide that power: one lane a rank). Throws InputError (naming numerics.data_lanes, batch.global, batch.micro
/// and grid.data) when a requested number is no power of two, does not divide the micro-batches, or is no multiple of
/// data_size.
[[nodiscard]] std::int64_t resolve_lanes(std::int64_t requested, std::int64_t num_micro_batches, int data_size,
                                         bool invariant);

}  // namespace trireme::optim
