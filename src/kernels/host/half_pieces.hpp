// Pieces of matrices in half precision, widened to fp32 and back.
#pragma once

#include <cstdint>

#include "trireme/device/device.hpp"

#include "kernels/host/matmul.hpp"

namespace trireme::kernels::host {

/// The layout of a widened piece of a matrix laid out as `source`: the same dim is contiguous, lines stand
/// `line_stride` apart.
[[nodiscard]] Layout widened(const Layout& source, std::int64_t line_stride);

/// target = a piece [rows, columns] of a half matrix, in fp32, laid out as widened(layout, line_stride).
void widen_piece(const device::Device& device, const Layout& layout, std::int64_t rows, std::int64_t columns,
                 const void* source, std::int64_t line_stride, float* target);

/// Stores a contiguous piece [rows, columns] of fp32 in a row-major target of another length of rows: into fp32 it is
/// set or added, into half precision set, rounded to nearest even.
void store_piece(const device::Device& device, std::int64_t rows, std::int64_t columns, const float* source,
                 const Layout& layout, void* target, bool adds);

}  // namespace trireme::kernels::host
