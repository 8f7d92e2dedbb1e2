#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

/// The sum over count elements, 2 or 4 bytes each, that follow each other from an index on; the upper half of the index
/// is the same for all.
TRIREME_ISA_DECLARE(template <class T>
                    std::uint64_t fingerprint_run(std::int64_t count, const T* values, std::uint64_t first_index))

}  // namespace trireme::kernels::host
