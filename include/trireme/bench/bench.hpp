// What this machine gives: tables for people, JSON for tools.
#pragma once

#include "trireme/device/device.hpp"

namespace trireme::bench {

/// Measures the products of GPT-2 124M on the rank's threads, beside the GEMM ceiling (a large square product) and the
/// rate of the memory (triad). Operands are really written. Medians over repeats with their spread. Prints a table, or
/// one JSON object; returns the exit code.
int run_gemm_bench(const device::Device& device, bool json);

/// Measures the hot kernels at sizes of GPT-2 124M, each with the share of its floor: FLOP over the GEMM ceiling or
/// bytes over the triad rate, whichever takes longer. Operands that stay in a cache may beat the floor.
int run_kernels_bench(const device::Device& device, bool json);

}  // namespace trireme::bench
