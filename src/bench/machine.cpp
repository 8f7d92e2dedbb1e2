#include "bench/machine.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

#include "bench/operands.hpp"

namespace trireme::bench {

namespace {

constexpr std::ptrdiff_t num_probes = 2;
// A multiple of the library's register tile, 48. The rows of a power of two would meet in the same places of the
// caches.
constexpr std::int64_t square_rows = 49 * 48;
constexpr double square_flop = 2.0 * square_rows * square_rows * square_rows;
constexpr std::int64_t triad_elements = std::int64_t{24} << 20U;
constexpr std::int64_t triad_block = std::int64_t{1} << 16U;
constexpr double triad_bytes = 3.0 * triad_elements * sizeof(float);

void add_scaled(const float* b, const float* c, float* a) {
  for (std::int64_t i = 0; i < triad_block; ++i) a[i] = b[i] + 3.0F * c[i];
}

}  // namespace

SquareProduct::SquareProduct(const device::Device& device, Dtype dtype, device::Arena& arena)
    : gemm(device, arena, dtype),
      a(random_tensor(arena, {square_rows, square_rows}, dtype)),
      b(random_tensor(arena, {square_rows, square_rows}, dtype)),
      c(random_tensor(arena, {square_rows, square_rows}, dtype)) {}

Row SquareProduct::row() {
  return {.kernel = "square", .dtype = a.dtype, .flop = square_flop, .work = [this] {
            gemm.backward_input(a, b, c, kernels::Write::set);
          }};
}

Probes::Probes(const device::Device& on, device::Arena& arena)
    : device(on),
      square(on, Dtype::f32, arena),
      triad_a(random_tensor(arena, {triad_elements})),
      triad_b(random_tensor(arena, {triad_elements})),
      triad_c(random_tensor(arena, {triad_elements})) {}

void Probes::append_rows(std::vector<Row>& rows) {
  const auto triad = [this] {
    device.parallel(triad_elements / triad_block, [this](std::int64_t block, int) {
      const std::int64_t begin = block * triad_block;
      add_scaled(triad_b.as<float>() + begin, triad_c.as<float>() + begin, triad_a.as<float>() + begin);
    });
  };
  rows.push_back(square.row());
  rows.push_back({.kernel = "triad", .bytes = triad_bytes, .work = triad});
}

Machine take_machine(std::vector<Row>& rows) {
  TRIREME_EXPECT(rows.size() >= num_probes);
  const Row& gemm = rows[0];
  const Row& triad = rows[1];
  const Machine machine{.gemm_flop_per_s = gemm.flop / gemm.timing.median_s,
                        .gemm_spread = gemm.timing.spread,
                        .triad_bytes_per_s = triad.bytes / triad.timing.median_s,
                        .triad_spread = triad.timing.spread};
  rows.erase(rows.begin(), rows.begin() + num_probes);
  return machine;
}

Machine measure(std::vector<Row>& rows, double budget_s) {
  measure_in_turns(rows, budget_s);
  return take_machine(rows);
}

double floor_s(const Row& row, const Machine& machine) {
  return std::max(row.flop / machine.gemm_flop_per_s, row.bytes / machine.triad_bytes_per_s);
}

}  // namespace trireme::bench
