// What sizes are cut with.
#pragma once

#include "kernels/host/simd/namespace.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

TRIREME_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
TRIREME_INLINE std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
TRIREME_INLINE std::int64_t rounded_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace trireme::kernels::host::TRIREME_ISA
