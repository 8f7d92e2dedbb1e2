// The result of a benchmark, as a table or as JSON.
#pragma once

#include <string>
#include <vector>

#include "trireme/device/device.hpp"

#include "bench/machine.hpp"
#include "bench/measure.hpp"

namespace trireme::bench {

/// The machine: device, library, GEMM ceiling, memory triad.
[[nodiscard]] std::string head_text(const device::Device& device, const Machine& machine);

/// A table for people: rate in GFLOP/s where FLOP make the floor, else in GB/s, and the share of the floor reached.
[[nodiscard]] std::string table_text(const device::Device& device, const Machine& machine,
                                     const std::vector<Row>& rows);

/// The products, a line for each kernel and shape of fp32, the types side by side: GFLOP/s, and for half precision how
/// many times as fast it is.
[[nodiscard]] std::string gemm_table_text(const device::Device& device, const Machine& machine,
                                          const std::vector<Row>& rows);

/// One object with the machine's rates and an array `kernels`; seconds, FLOP and bytes as plain numbers. The share of
/// the floor stands at rows of fp32, as the GEMM ceiling is of fp32.
[[nodiscard]] std::string json_text(const device::Device& device, const Machine& machine, const std::vector<Row>& rows);

}  // namespace trireme::bench
