// Whether the library adds its product to the output at the end of the sum over k.
#pragma once

#include <cstddef>

#include <dnnl.hpp>

#include "kernels/host/matmul.hpp"

namespace trireme::kernels::host {

/// Whether C += A B (+ bias) of `shape` gives the very bits of the product set into a partial result and a separate
/// addition, C in fp32. Tried out once on numbers that are the same everywhere, so all ranks find the same; the library
/// may add its output in the middle of a sum over k. scratch: for one thread, as for Matmul.
[[nodiscard]] bool adds_at_the_end(const dnnl::engine& engine, const MatmulShape& shape, void* scratch,
                                   std::size_t scratch_bytes);

}  // namespace trireme::kernels::host
