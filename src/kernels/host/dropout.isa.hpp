#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"
#include "kernels/host/philox_simd.hpp"

namespace trireme::kernels::host {

/// out = residual + dropout(branch) for elements [first, first + count) of a sequence; the pointers stand at `first`.
/// Without a residual (nullptr) out = dropout(branch); without a stream (nullptr) nothing drops out.
TRIREME_ISA_DECLARE(template <class T> void residual_add(const DropoutStream* stream, std::int64_t first,
                                                         std::int64_t count, const T* residual, const T* branch,
                                                         T* out))

}  // namespace trireme::kernels::host
