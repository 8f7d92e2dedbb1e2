#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

/// The sum of the squares of count elements (of values + second_values, unless nullptr), in double, in a fixed order.
TRIREME_ISA_DECLARE(double sum_of_squares_run(std::int64_t count, const float* values, const float* second_values))

/// target[i] += source[i].
TRIREME_ISA_DECLARE(void add_run(std::int64_t count, const float* source, float* target))

/// sums[d] = sum over the rows of x [rows, D], in ascending order.
TRIREME_ISA_DECLARE(template <class T> void sum_rows(std::int64_t rows, std::int64_t columns, const T* x, float* sums))

/// sums[0] = the balanced tree over sums[0], sums[stride], ... of `blocks` rows, `count` columns each; destroys the
/// others.
TRIREME_ISA_DECLARE(void add_tree(std::int64_t blocks, std::int64_t stride, std::int64_t count, float* sums))

/// add_tree(), then out (set or added) = sums[0], zero without blocks.
TRIREME_ISA_DECLARE(void add_blocks(std::int64_t blocks, std::int64_t stride, std::int64_t count, float* sums,
                                    bool adds, float* out))

/// True when every element is finite.
TRIREME_ISA_DECLARE(template <class T> bool finite_run(std::int64_t count, const T* values))

}  // namespace trireme::kernels::host
