// Elements of any type as doubles, for statistics and comparisons.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/base/dtype.hpp"

namespace trireme::checkpoint {

/// The elements as doubles (64-bit integers beyond 2^53 are rounded), in place of what `numbers` held.
void to_doubles(Dtype dtype, const void* data, std::int64_t count, std::vector<double>& numbers);

/// How many of the numbers are NaN or infinite.
[[nodiscard]] std::int64_t count_nonfinite(const std::vector<double>& numbers);

}  // namespace trireme::checkpoint
