// A deck on a grid: what can be judged and chosen only once the sizes of the axes are known.
#pragma once

#include <cstdint>

#include "trireme/comm/grid_shape.hpp"
#include "trireme/config/deck.hpp"

namespace trireme::config {

/// Checks a deck from parse_deck() on a grid from fit_grid(): the rules that parse_deck() left out where an axis was 0.
/// Throws one InputError with a line for each problem, naming the options and the legal numbers.
void check_grid(const Deck& deck, const comm::GridShape& grid);

/// batch.micro; where it is 0, the sequences of a micro-batch on `data_size` data ranks: the largest divisor of
/// batch.global up to 8 that leaves a multiple of 8 micro-batches (else 1), the same on every grid, if they can be
/// shared by the ranks and by numerics.data_lanes; else the largest smaller one that can. So a deck never needs more
/// memory for its activations on more data ranks. Where none can (batch.global is no multiple of data_size), 1.
[[nodiscard]] std::int64_t resolve_micro(const Deck& deck, int data_size);

}  // namespace trireme::config
