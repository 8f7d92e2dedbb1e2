#include "checkpoint/rectangle.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <fmt/core.h>

namespace trireme::checkpoint {
namespace {

/// Place of the global coordinates `at` in a row-major buffer that holds the rectangle.
std::int64_t flat_index(const Shape& at, const Shard& rectangle) {
  std::int64_t index = 0;
  for (int dim = 0; dim < at.num_dims(); ++dim) {
    index = index * rectangle.extent[dim] + (at[dim] - rectangle.offset[dim]);
  }
  return index;
}

/// Moves `at` to the next row of the rectangle.
void advance_row(Shape& at, const Shard& rectangle) {
  for (int dim = at.num_dims() - 2; dim >= 0; --dim) {
    if (++at[dim] < rectangle.offset[dim] + rectangle.extent[dim]) return;
    at[dim] = rectangle.offset[dim];
  }
}

using Key = std::array<std::int64_t, 2 * Shape::max_dims>;

/// Offsets and extents of all dimensions but one: rectangles of equal key lie in one line along that one.
Key key_without(const Shard& rectangle, int dim) {
  Key key{};
  std::size_t at = 0;
  for (int other = 0; other < rectangle.offset.num_dims(); ++other) {
    if (other == dim) continue;
    key[at++] = rectangle.offset[other];
    key[at++] = rectangle.extent[other];
  }
  return key;
}

void join_along(std::vector<Shard>& rectangles, int dim) {
  std::sort(rectangles.begin(), rectangles.end(), [dim](const Shard& a, const Shard& b) {
    const Key key_a = key_without(a, dim);
    const Key key_b = key_without(b, dim);
    return key_a != key_b ? key_a < key_b : a.offset[dim] < b.offset[dim];
  });
  std::vector<Shard> joined;
  for (const Shard& next : rectangles) {
    const bool continues = !joined.empty() && key_without(joined.back(), dim) == key_without(next, dim) &&
                           joined.back().offset[dim] + joined.back().extent[dim] == next.offset[dim];
    if (continues) {
      joined.back().extent[dim] += next.extent[dim];
    } else {
      joined.push_back(next);
    }
  }
  rectangles = std::move(joined);
}

}  // namespace

bool offset_less(const Shard& a, const Shard& b) {
  for (int dim = 0; dim < a.offset.num_dims(); ++dim) {
    if (a.offset[dim] != b.offset[dim]) return a.offset[dim] < b.offset[dim];
  }
  return false;
}

std::optional<Shard> intersect(const Shard& a, const Shard& b) {
  Shard common = a;
  for (int dim = 0; dim < a.offset.num_dims(); ++dim) {
    const std::int64_t begin = std::max(a.offset[dim], b.offset[dim]);
    const std::int64_t end = std::min(a.offset[dim] + a.extent[dim], b.offset[dim] + b.extent[dim]);
    if (begin >= end) return std::nullopt;
    common.offset[dim] = begin;
    common.extent[dim] = end - begin;
  }
  return common;
}

bool is_inside(const Shard& rectangle, const Shape& shape) {
  if (rectangle.offset.num_dims() != shape.num_dims() || rectangle.extent.num_dims() != shape.num_dims()) return false;
  for (int dim = 0; dim < shape.num_dims(); ++dim) {
    const std::int64_t offset = rectangle.offset[dim];
    const std::int64_t extent = rectangle.extent[dim];
    if (offset < 0 || extent < 0 || extent > shape[dim] || offset > shape[dim] - extent) return false;
  }
  return true;
}

void copy_rectangle(const Shard& part, const Shard& source, const void* from, const Shard& target, void* to,
                    std::size_t element_bytes) {
  TRIREME_EXPECT(part.extent.num_dims() > 0);
  const std::size_t row_bytes = static_cast<std::size_t>(part.extent.columns()) * element_bytes;
  const std::int64_t num_rows = part.extent.rows();
  Shape at = part.offset;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    std::memcpy(static_cast<std::byte*>(to) + static_cast<std::size_t>(flat_index(at, target)) * element_bytes,
                static_cast<const std::byte*>(from) + static_cast<std::size_t>(flat_index(at, source)) * element_bytes,
                row_bytes);
    advance_row(at, part);
  }
}

std::vector<Shard> join_neighbours(std::vector<Shard> rectangles) {
  std::size_t before = 0;
  while (before != rectangles.size()) {
    before = rectangles.size();
    // Columns first: the last part of a row and its first part make the row whole, whole rows then join to blocks.
    for (int dim = rectangles.front().offset.num_dims() - 1; dim >= 0; --dim) join_along(rectangles, dim);
  }
  std::sort(rectangles.begin(), rectangles.end(), offset_less);
  return rectangles;
}

std::string cover_problem(const Shape& shape, std::vector<Shard> rectangles) {
  std::sort(rectangles.begin(), rectangles.end(), offset_less);
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < rectangles.size(); ++i) {
    if (!is_inside(rectangles[i], shape)) return fmt::format("{} leaves {}", text_of(rectangles[i]), shape.text());
    covered += rectangles[i].extent.size();
    const std::int64_t end = rectangles[i].offset[0] + rectangles[i].extent[0];
    for (std::size_t j = i + 1; j < rectangles.size() && rectangles[j].offset[0] < end; ++j) {
      if (intersect(rectangles[i], rectangles[j])) {
        return fmt::format("{} and {} overlap", text_of(rectangles[i]), text_of(rectangles[j]));
      }
    }
  }
  if (covered != shape.size()) return fmt::format("{} of {} elements are given", covered, shape.size());
  return {};
}

std::string text_of(const Shard& rectangle) {
  return fmt::format("{} + {}", rectangle.offset.text(), rectangle.extent.text());
}

}  // namespace trireme::checkpoint
