// The elementary functions of kernels/host/math.hpp on arrays, once for each instruction set.
#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels {

enum class Elementary : std::uint8_t { exp, exp_of_nonpositive, log, tanh, erf, half, bfloat, sum, maximum };

namespace host {

/// y[i] = function(x[i]) for sixteen elements (the last two: of all sixteen).
TRIREME_ISA_DECLARE(void evaluate(Elementary function, const float* x, float* y))

}  // namespace host
}  // namespace trireme::kernels
