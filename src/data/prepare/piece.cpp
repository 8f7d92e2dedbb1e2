#include "data/prepare/piece.hpp"

#include <algorithm>
#include <cmath>

namespace trireme::data {

std::int64_t place_of_fraction(double fraction, std::int64_t total) {
  constexpr std::int64_t billion = 1000000000;
  const std::int64_t billionths = std::clamp<std::int64_t>(std::llround(fraction * billion), 0, billion);
  return total / billion * billionths + total % billion * billionths / billion;
}

std::vector<Segment> segments_of(const std::vector<std::int64_t>& firsts, Range range) {
  std::vector<Segment> segments;
  for (std::size_t file = 0; file + 1 < firsts.size(); ++file) {
    const std::int64_t begin = std::max(range.begin, firsts[file]);
    const std::int64_t end = std::min(range.end, firsts[file + 1]);
    if (begin < end) segments.push_back({file, {begin - firsts[file], end - firsts[file]}});
  }
  return segments;
}

}  // namespace trireme::data
