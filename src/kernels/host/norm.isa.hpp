#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"
#include "kernels/norm_arguments.hpp"

namespace trireme::kernels::host {

TRIREME_ISA_DECLARE(
    /// y, mean, rstd of rows [begin, end).
    template <class T> void norm_forward(const NormForward<T>& norm, std::int64_t begin, std::int64_t end);
    /// dx of the rows of a block, and the block's sums in scratch.
    template <class T> void norm_backward(const NormBackward<T>& norm, std::int64_t block))

}  // namespace trireme::kernels::host
