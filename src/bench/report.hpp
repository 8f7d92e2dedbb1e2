// The result of a benchmark, as a table or as JSON.
#pragma once

#include <string>
#include <vector>

#include "trireme/device/device.hpp"

#include "bench/machine.hpp"
#include "bench/measure.hpp"

namespace trireme::bench {

/// A table for people: rate in GFLOP/s where FLOP make the floor, else in GB/s, and the share of the floor reached.
[[nodiscard]] std::string table_text(const device::Device& device, const Machine& machine,
                                     const std::vector<Row>& rows);

/// One object with the machine's rates and an array `kernels`; seconds, FLOP and bytes as plain numbers.
[[nodiscard]] std::string json_text(const device::Device& device, const Machine& machine, const std::vector<Row>& rows);

/// Measures all rows, whose first ones are those of the probes, and writes the table or the JSON to standard output.
void measure_and_print(const device::Device& device, std::vector<Row> rows, double budget_s, bool json);

}  // namespace trireme::bench
