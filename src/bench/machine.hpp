// The two rates that bound every kernel.
#pragma once

#include <vector>

#include "trireme/device/device.hpp"
#include "trireme/kernels/gemm.hpp"

#include "bench/measure.hpp"

namespace trireme::bench {

struct Machine {
  double gemm_flop_per_s = 0;  ///< fp32, a large square product, all threads
  double gemm_spread = 0;
  double triad_bytes_per_s = 0;  ///< a = b + s c
  double triad_spread = 0;
};

/// A large square product in one type.
struct SquareProduct {
  SquareProduct(const device::Device& device, Dtype dtype, device::Arena& arena);
  [[nodiscard]] Row row();

  kernels::Gemm gemm;
  tensor::Tensor a, b, c;
};

/// The operands of the probes.
struct Probes {
  Probes(const device::Device& device, device::Arena& arena);

  /// Appends the probes' rows, to be measured in turns with the others.
  void append_rows(std::vector<Row>& rows);

  const device::Device& device;
  SquareProduct square;
  tensor::Tensor triad_a, triad_b, triad_c;
};

/// Takes the probes' rows out again.
[[nodiscard]] Machine take_machine(std::vector<Row>& rows);

/// Measures all rows in turns, the first of which are those of the probes, and takes these out.
[[nodiscard]] Machine measure(std::vector<Row>& rows, double budget_s);

[[nodiscard]] double floor_s(const Row& row, const Machine& machine);

}  // namespace trireme::bench
