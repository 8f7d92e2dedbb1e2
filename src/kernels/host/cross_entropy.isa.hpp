#pragma once

#include <cstdint>

#include "kernels/cross_entropy_arguments.hpp"
#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

/// Rows [begin, end) of the functions of trireme/kernels/cross_entropy.hpp.
TRIREME_ISA_DECLARE(void cross_entropy_statistics(const CrossEntropySlice& slice, std::int64_t begin, std::int64_t end))
TRIREME_ISA_DECLARE(void cross_entropy_combine(const CrossEntropySlices& slices, std::int64_t begin, std::int64_t end))
TRIREME_ISA_DECLARE(template <class T> void cross_entropy_gradient(const CrossEntropyGradient<T>& gradient,
                                                                   std::int64_t begin, std::int64_t end))

}  // namespace trireme::kernels::host
