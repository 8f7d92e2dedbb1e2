// A number that tells whether two arrays have the same bits, wherever their parts are.
#pragma once

#include <cstdint>

#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// The sum modulo 2^64 over the elements of values [rows, columns] (fp32, bf16 or fp16) of a mix of each one's bits and
/// its index in the whole tensor: first_index + row * row_stride + column. As it is a sum of integers, parts of a
/// tensor (of rows, columns, slices, ranks) add up to that of the whole in any order.
///
/// The mix is one to one in the bits, so one changed element always changes the sum. Several changes (a swap, too)
/// cancel each other with an estimated probability below 2^-55: of two million equal changes of a bit, all 64-bit
/// differences were distinct, upper words equal up to twice as often as random ones, lower words twenty times.
/// -0 and 0 differ, and so do different NaNs.
[[nodiscard]] std::uint64_t fingerprint(const device::Device& device, const tensor::Tensor& values,
                                        std::uint64_t first_index, std::int64_t row_stride);

}  // namespace trireme::kernels
