// Small helpers for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

/// The candidate with the smallest edit distance to `word`, or empty when none is near enough to be meant
/// (distance above a third of the longer length, at least 2).
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// `1 document`, `2 documents`.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);

/// `a, b, c`.
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace trireme
