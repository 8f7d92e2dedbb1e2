#include "kernels/host/cut_matmul.hpp"

#include <cstddef>

namespace trireme::kernels::host {

namespace {

const std::byte* element(const void* matrix, const Layout& layout, std::int64_t row, std::int64_t column) {
  const std::int64_t index = row * layout.row_stride + column * layout.column_stride;
  return static_cast<const std::byte*>(matrix) + static_cast<std::size_t>(index) * size_of(layout.dtype);
}

// The first and the last piece of each dim: between them they have every size.
std::array<std::int64_t, 2> ends(const Cut& cut) {
  return {0, cut.num_pieces() - 1};
}

}  // namespace

CutMatmul::CutMatmul(const dnnl::engine& engine, Product product, const MatmulShape& shape,
                     std::span<void* const> scratch, std::size_t scratch_bytes)
    : shape_(shape), pieces_(cut_product(product, shape.m, shape.n, shape.k, shape.c.dtype != Dtype::f32)) {
  for (const std::int64_t row : ends(pieces_.rows)) {
    for (const std::int64_t column : ends(pieces_.columns)) {
      for (std::int64_t depth = 0; depth < pieces_.depth.num_pieces(); ++depth) {
        auto& made = primitive(row, column, depth);
        if (made == nullptr) {
          made = std::make_unique<Matmul>(engine, piece_shape(row, column, depth), scratch, scratch_bytes);
        }
      }
    }
  }
}

MatmulShape CutMatmul::piece_shape(std::int64_t row, std::int64_t column, std::int64_t depth) const {
  MatmulShape shape = shape_;
  shape.m = pieces_.rows.size(row);
  shape.n = pieces_.columns.size(column);
  shape.k = pieces_.depth.size(depth);
  shape.bias = shape_.bias && depth == 0;
  shape.accumulate = shape_.accumulate || depth > 0;
  return shape;
}

std::unique_ptr<Matmul>& CutMatmul::primitive(std::int64_t row, std::int64_t column, std::int64_t depth) {
  const std::size_t row_kind = pieces_.rows.is_last(row) ? 1 : 0;
  const std::size_t column_kind = pieces_.columns.is_last(column) ? 1 : 0;
  const std::size_t depth_kind = depth == 0 ? 0 : (pieces_.depth.is_last(depth) ? 2 : 1);
  return primitives_[(row_kind * 2 + column_kind) * 3 + depth_kind];
}

void CutMatmul::run(const device::Device& device, const void* a, const void* b, const void* bias, void* c) {
  // One by one: the last pieces are smaller, and a core may be lent to somebody else.
  constexpr bool dynamic = true;
  device.parallel(
      pieces_.num_blocks(), [&](std::int64_t block, int thread) { run_block(block, thread, a, b, bias, c); }, dynamic);
}

void CutMatmul::run_block(std::int64_t block, int thread, const void* a, const void* b, const void* bias, void* c) {
  const std::int64_t row = block / pieces_.columns.num_pieces();
  const std::int64_t column = block % pieces_.columns.num_pieces();
  const std::int64_t i = pieces_.rows.begin(row);
  const std::int64_t j = pieces_.columns.begin(column);
  void* const target = const_cast<std::byte*>(element(c, shape_.c, i, j));
  const void* const bias_piece = bias == nullptr ? nullptr : static_cast<const float*>(bias) + j;
  for (std::int64_t depth = 0; depth < pieces_.depth.num_pieces(); ++depth) {
    const std::int64_t k = pieces_.depth.begin(depth);
    primitive(row, column, depth)
        ->run(thread, element(a, shape_.a, i, k), element(b, shape_.b, k, j), bias_piece, target);
  }
}

}  // namespace trireme::kernels::host
