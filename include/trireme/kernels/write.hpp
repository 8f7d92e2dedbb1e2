#pragma once

#include <cstdint>

namespace trireme::kernels {

/// Whether a kernel replaces its output or adds to it.
enum class Write : std::uint8_t { set, add };

}  // namespace trireme::kernels
