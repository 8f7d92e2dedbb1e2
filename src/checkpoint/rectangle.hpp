// Rectangles of a tensor in global coordinates: what they have in common, how they are copied and joined.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/tensor/parameter.hpp"

namespace trireme::checkpoint {

using tensor::Shape;
using tensor::Shard;

/// The elements that both hold, if any.
[[nodiscard]] std::optional<Shard> intersect(const Shard& a, const Shard& b);

/// True when the rectangle has as many dimensions as the shape and lies inside it.
[[nodiscard]] bool is_inside(const Shard& rectangle, const Shape& shape);

/// Copies `part` out of a row-major buffer that holds the rectangle `source` into one that holds `target`.
/// Contract: part lies inside both.
void copy_rectangle(const Shard& part, const Shard& source, const void* from, const Shard& target, void* to,
                    std::size_t element_bytes);

/// Whether a begins before b: in the row-major order of the tensor.
[[nodiscard]] bool offset_less(const Shard& a, const Shard& b);

/// Joins rectangles that share a whole face, again and again; ordered by offset.
[[nodiscard]] std::vector<Shard> join_neighbours(std::vector<Shard> rectangles);

/// What keeps the rectangles from covering each element of the shape exactly once; empty when nothing does.
[[nodiscard]] std::string cover_problem(const Shape& shape, std::vector<Shard> rectangles);

/// `[0, 384] + [768, 384]`
[[nodiscard]] std::string text_of(const Shard& rectangle);

}  // namespace trireme::checkpoint
