#include "kernels/host/cut_matmul.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "kernels/host/accumulation.hpp"
#include "kernels/host/half_pieces.hpp"

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

std::int64_t widened_stride(const Layout& layout, const Cut& rows, const Cut& columns) {
  return line_stride_of((layout.column_stride == 1 ? columns : rows).size(0));
}

void expect_scratch(bool needed, const std::vector<float*>& scratch, Dtype dtype) {
  if (!needed || !scratch.empty()) return;
  throw SystemError(fmt::format(
      "cannot multiply matrices of `{}` (the object of the products was made for another type)", name_of(dtype)));
}

}  // namespace

CutMatmul::CutMatmul(const device::Device& device, const dnnl::engine& engine, Product product,
                     const MatmulShape& shape, const GemmScratch& scratch)
    : device_(device),
      scratch_(scratch),
      shape_(shape),
      widens_(!multiplies_itself(device.isa(), shape.a.dtype)),
      aside_(widens_ && shape.c.dtype != Dtype::f32),
      pieces_(cut_product(product, shape.m, shape.n, shape.k, shape.c.dtype != Dtype::f32 && !aside_)) {
  TRIREME_EXPECT(shape.a.dtype == shape.b.dtype && (shape.c.dtype == shape.a.dtype || shape.c.dtype == Dtype::f32));
  aside_ = aside_ || adds_aside(engine);
  expect_scratch(widens_, scratch.a, shape.a.dtype);
  expect_scratch(aside_, scratch.sum, shape.a.dtype);
  for (const std::int64_t row : ends(pieces_.rows)) {
    for (const std::int64_t column : ends(pieces_.columns)) {
      for (std::int64_t depth = 0; depth < pieces_.depth.num_pieces(); ++depth) {
        auto& made = primitive(row, column, depth);
        if (made != nullptr) continue;
        made =
            std::make_unique<Matmul>(engine, piece_shape(row, column, depth), scratch.library, scratch.library_bytes);
      }
    }
  }
}

/// In half precision a product is complete before it is added to an output of fp32, whatever the library does.
bool CutMatmul::adds_aside(const dnnl::engine& engine) const {
  if (shape_.a.dtype == Dtype::f32 || shape_.c.dtype != Dtype::f32) return false;
  if (shape_.accumulate && (widens_ || pieces_.depth.num_pieces() > 1)) return true;
  for (const std::int64_t row : ends(pieces_.rows)) {
    for (const std::int64_t column : ends(pieces_.columns)) {
      for (const std::int64_t depth : ends(pieces_.depth)) {
        const MatmulShape shape = piece_shape(row, column, depth);
        if (!shape.accumulate) continue;
        if (!adds_at_the_end(engine, shape, scratch_.library[0], scratch_.library_bytes)) return true;
      }
    }
  }
  return false;
}

MatmulShape CutMatmul::piece_shape(std::int64_t row, std::int64_t column, std::int64_t depth) const {
  MatmulShape shape = shape_;
  shape.m = pieces_.rows.size(row);
  shape.n = pieces_.columns.size(column);
  shape.k = pieces_.depth.size(depth);
  shape.bias = shape_.bias && depth == 0;
  const bool starts_from_output = shape_.accumulate && !(aside_ && shape_.c.dtype == Dtype::f32);
  shape.accumulate = starts_from_output || depth > 0;
  if (widens_) {
    shape.a = widened(shape_.a, widened_stride(shape_.a, pieces_.rows, pieces_.depth));
    shape.b = widened(shape_.b, widened_stride(shape_.b, pieces_.depth, pieces_.columns));
  }
  if (aside_) shape.c = {.dtype = Dtype::f32, .row_stride = shape.n};
  return shape;
}

std::unique_ptr<Matmul>& CutMatmul::primitive(std::int64_t row, std::int64_t column, std::int64_t depth) {
  const std::size_t row_kind = pieces_.rows.is_last(row) ? 1 : 0;
  const std::size_t column_kind = pieces_.columns.is_last(column) ? 1 : 0;
  const std::size_t depth_kind = depth == 0 ? 0 : (pieces_.depth.is_last(depth) ? 2 : 1);
  return primitives_[(row_kind * 2 + column_kind) * 3 + depth_kind];
}

CutMatmul::Block CutMatmul::block_of(std::int64_t number) const {
  const std::int64_t row = number / pieces_.columns.num_pieces();
  const std::int64_t column = number % pieces_.columns.num_pieces();
  return {.row = row,
          .column = column,
          .i = pieces_.rows.begin(row),
          .j = pieces_.columns.begin(column),
          .m = pieces_.rows.size(row),
          .n = pieces_.columns.size(column)};
}

void CutMatmul::run(const void* a, const void* b, const void* bias, void* c) {
  // One by one: the last pieces are smaller, and a core may be lent to somebody else.
  constexpr bool dynamic = true;
  device_.parallel(
      pieces_.num_blocks(),
      [&](std::int64_t number, int thread) { run_block(block_of(number), thread, a, b, bias, c); }, dynamic);
}

void CutMatmul::run_block(const Block& block, int thread, const void* a, const void* b, const void* bias, void* c) {
  void* const output = const_cast<std::byte*>(element(c, shape_.c, block.i, block.j));
  const void* const bias_piece = bias == nullptr ? nullptr : static_cast<const float*>(bias) + block.j;
  float* const sum = aside_ ? scratch_.sum[static_cast<std::size_t>(thread)] : nullptr;
  if (aside_ && shape_.accumulate && shape_.c.dtype != Dtype::f32) {
    widen_piece(device_, shape_.c, block.m, block.n, output, block.n, sum);
  }
  for (std::int64_t depth = 0; depth < pieces_.depth.num_pieces(); ++depth) {
    primitive(block.row, block.column, depth)
        ->run(thread, piece_of_a(a, block, depth, thread), piece_of_b(b, block, depth, thread), bias_piece,
              aside_ ? sum : output);
  }
  if (aside_) store_piece(device_, block.m, block.n, sum, shape_.c, output, shape_.accumulate);
}

const void* CutMatmul::piece_of_a(const void* a, const Block& block, std::int64_t depth, int thread) const {
  const void* const piece = element(a, shape_.a, block.i, pieces_.depth.begin(depth));
  if (!widens_) return piece;
  float* const target = scratch_.a[static_cast<std::size_t>(thread)];
  widen_piece(device_, shape_.a, block.m, pieces_.depth.size(depth), piece,
              widened_stride(shape_.a, pieces_.rows, pieces_.depth), target);
  return target;
}

const void* CutMatmul::piece_of_b(const void* b, const Block& block, std::int64_t depth, int thread) const {
  const void* const piece = element(b, shape_.b, pieces_.depth.begin(depth), block.j);
  if (!widens_) return piece;
  float* const target = scratch_.b[static_cast<std::size_t>(thread)];
  widen_piece(device_, shape_.b, pieces_.depth.size(depth), block.n, piece,
              widened_stride(shape_.b, pieces_.depth, pieces_.columns), target);
  return target;
}

}  // namespace trireme::kernels::host
