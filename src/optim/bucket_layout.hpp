#pragma once

#include <cstdint>
#include <vector>

#include "trireme/optim/gradient_sync.hpp"

namespace trireme::optim {

/// The rows of the bucket's parameters that lie in its elements [begin, end), which are cuts (or its ends).
[[nodiscard]] std::vector<OwnedRows> rows_between(const BucketLayout& layout, std::int64_t begin, std::int64_t end);

/// True for the bucket of a second gradient: it has no weights.
[[nodiscard]] bool is_gradient_only(const BucketLayout& layout);

}  // namespace trireme::optim
