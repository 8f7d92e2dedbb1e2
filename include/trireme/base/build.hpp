// Which build this is.
#pragma once

#include <string>

namespace trireme {

/// `0.1.0`.
[[nodiscard]] std::string version();

/// Version and commit: `0.1.0 (1a2b3c4)`.
[[nodiscard]] std::string build_description();

}  // namespace trireme
