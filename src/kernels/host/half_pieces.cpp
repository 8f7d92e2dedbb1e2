#include "kernels/host/half_pieces.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

#include "kernels/host/cast.isa.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/host/reduce.isa.hpp"

namespace trireme::kernels::host {

namespace {

template <class Half>
void widen(const device::Device& device, std::int64_t lines, std::int64_t length, const Half* source,
           std::int64_t source_stride, std::int64_t target_stride, float* target) {
  const auto convert = TRIREME_ISA_CALL(device, convert<Half, float>);
  for (std::int64_t line = 0; line < lines; ++line) {
    convert(length, source + line * source_stride, target + line * target_stride);
  }
}

template <class Target>
void copy(const device::Device& device, std::int64_t rows, std::int64_t columns, const float* source,
          std::int64_t target_stride, Target* target) {
  const auto convert = TRIREME_ISA_CALL(device, convert<float, Target>);
  for (std::int64_t row = 0; row < rows; ++row) convert(columns, source + row * columns, target + row * target_stride);
}

template <>
void copy(const device::Device& /*device*/, std::int64_t rows, std::int64_t columns, const float* source,
          std::int64_t target_stride, float* target) {
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(source + row * columns, columns, target + row * target_stride);
}

void add(const device::Device& device, std::int64_t rows, std::int64_t columns, const float* source,
         std::int64_t target_stride, float* target) {
  const auto add_to = TRIREME_ISA_CALL(device, add_run);
  for (std::int64_t row = 0; row < rows; ++row) add_to(columns, source + row * columns, target + row * target_stride);
}

}  // namespace

Layout widened(const Layout& source, std::int64_t line_stride) {
  if (source.column_stride == 1) return {.dtype = Dtype::f32, .row_stride = line_stride, .column_stride = 1};
  return {.dtype = Dtype::f32, .row_stride = 1, .column_stride = line_stride};
}

void widen_piece(const device::Device& device, const Layout& layout, std::int64_t rows, std::int64_t columns,
                 const void* source, std::int64_t line_stride, float* target) {
  const bool by_rows = layout.column_stride == 1;
  const std::int64_t lines = by_rows ? rows : columns;
  const std::int64_t length = by_rows ? columns : rows;
  const std::int64_t stride = by_rows ? layout.row_stride : layout.column_stride;
  if (layout.dtype == Dtype::bf16) {
    return widen(device, lines, length, static_cast<const Bf16*>(source), stride, line_stride, target);
  }
  TRIREME_EXPECT(layout.dtype == Dtype::f16);
  widen(device, lines, length, static_cast<const Fp16*>(source), stride, line_stride, target);
}

void store_piece(const device::Device& device, std::int64_t rows, std::int64_t columns, const float* source,
                 const Layout& layout, void* target, bool adds) {
  TRIREME_EXPECT(layout.column_stride == 1);
  switch (layout.dtype) {
    case Dtype::bf16:
      return copy(device, rows, columns, source, layout.row_stride, static_cast<Bf16*>(target));
    case Dtype::f16:
      return copy(device, rows, columns, source, layout.row_stride, static_cast<Fp16*>(target));
    default:
      return (adds ? add : copy<float>)(device, rows, columns, source, layout.row_stride, static_cast<float*>(target));
  }
}

}  // namespace trireme::kernels::host
