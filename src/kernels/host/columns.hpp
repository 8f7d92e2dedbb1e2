// Loops over the columns of a row, sixteen at a time: the tail runs the same code as the rest, on masked lanes.
#pragma once

#include "kernels/host/simd.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

/// All sixteen lanes are columns of the row.
struct AllLanes {
  template <class T>
  TRIREME_INLINE F32x16 load(const T* p) const {
    return TRIREME_ISA::load(p);
  }
  template <class T>
  TRIREME_INLINE void store(T* p, F32x16 a) const {
    TRIREME_ISA::store(p, a);
  }
  /// Zero in the lanes behind the row's end.
  TRIREME_INLINE F32x16 keep(F32x16 a) const { return a; }
};

/// Only the first `count` lanes are.
struct FirstLanes {
  std::int64_t count;
  template <class T>
  TRIREME_INLINE F32x16 load(const T* p) const {
    return load_first(p, count);
  }
  template <class T>
  TRIREME_INLINE void store(T* p, F32x16 a) const {
    store_first(p, a, count);
  }
  TRIREME_INLINE F32x16 keep(F32x16 a) const { return select(first_lanes(count), a, zero()); }
};

/// Calls body(lanes, column) for column = 0, 16, ...
template <class Body>
TRIREME_INLINE void for_columns(std::int64_t width, const Body& body) {
  std::int64_t column = 0;
  for (; column + num_lanes <= width; column += num_lanes) body(AllLanes{}, column);
  if (column < width) body(FirstLanes{width - column}, column);
}

/// The sum of term(lanes, column) over a row: sixteen columns belong to one of four vectors in turn, so four additions
/// are under way at a time; then the tree over the vectors and their lanes. The order depends on the width only.
template <class Term>
TRIREME_INLINE float sum_columns(std::int64_t width, const Term& term) {
  F32x16 part[4] = {zero(), zero(), zero(), zero()};
  std::int64_t column = 0;
  for (; column + 4 * num_lanes <= width; column += 4 * num_lanes) {
    for (int i = 0; i < 4; ++i) part[i] = part[i] + term(AllLanes{}, column + i * num_lanes);
  }
  for (int i = 0; column < width; ++i, column += num_lanes) {
    const std::int64_t left = width - column;
    part[i] =
        part[i] + (left < num_lanes ? FirstLanes{left}.keep(term(FirstLanes{left}, column)) : term(AllLanes{}, column));
  }
  return sum((part[0] + part[1]) + (part[2] + part[3]));
}

}  // namespace trireme::kernels::host::TRIREME_ISA
