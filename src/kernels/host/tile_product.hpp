// Products of bf16 matrices in the processor's tile registers, shared out to the rank's threads.
#pragma once

#include "trireme/device/device.hpp"

#include "kernels/host/gemm_scratch.hpp"
#include "kernels/host/matmul.hpp"

namespace trireme::kernels::host {

/// Whether this file, and not oneDNN, multiplies matrices of this type.
[[nodiscard]] bool multiplies_in_tiles(device::Isa isa, Dtype dtype);

/// C of `shape` from a, b and bias (nullptr without one). Each element is summed in an order that depends on k alone.
void multiply_in_tiles(const device::Device& device, const MatmulShape& shape, const GemmScratch& scratch,
                       const void* a, const void* b, const void* bias, void* c);

}  // namespace trireme::kernels::host
