// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace trireme {

/// `1.50 GiB`, `512 B`.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// `124 M`, `1.5 B`, `97`.
[[nodiscard]] std::string format_count(std::uint64_t count);

/// `2 h 05 min`, `3 min 20 s`, `1.25 s`.
[[nodiscard]] std::string format_seconds(double seconds);

}  // namespace trireme
