#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

/// target[i] = source[i], rounded to nearest even; Source and Target are float, Bf16 or Fp16.
TRIREME_ISA_DECLARE(template <class Source, class Target>
                    void convert(std::int64_t count, const Source* source, Target* target))

}  // namespace trireme::kernels::host
