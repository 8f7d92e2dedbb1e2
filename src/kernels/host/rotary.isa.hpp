#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

/// Rotates rows [begin, end) of x [N, heads, size] by the angles of their positions, or by the negative angles.
TRIREME_ISA_DECLARE(template <class T> void rotate_rows(std::int64_t begin, std::int64_t end, std::int64_t heads,
                                                        std::int64_t size, const float* table,
                                                        const std::int32_t* positions, bool backward, T* x))

}  // namespace trireme::kernels::host
