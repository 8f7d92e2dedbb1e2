#include "trireme/kernels/gemm.hpp"

#include <deque>

#include <fmt/format.h>

#include "trireme/bench/bench.hpp"

#include "bench/operands.hpp"
#include "bench/placed.hpp"
#include "bench/report.hpp"

namespace trireme::bench {

namespace {

using kernels::Write;

constexpr double budget_s = 0.5;

struct Linear {
  std::int64_t num_tokens, in, out;
};

// GPT-2 124M: projections, both halves of the MLP, and the head, which works on chunks of 256 tokens.
constexpr Linear linears[] = {{256, 768, 768},  {1024, 768, 768},  {256, 768, 3072}, {1024, 768, 3072},
                              {256, 3072, 768}, {1024, 3072, 768}, {256, 768, 50257}};

struct Operands {
  Operands(const Linear& of, device::Arena& arena)
      : linear(of),
        x(random_tensor(arena, {of.num_tokens, of.in})),
        weight(random_tensor(arena, {of.out, of.in})),
        bias(random_tensor(arena, {of.out})),
        y(random_tensor(arena, {of.num_tokens, of.out})) {}

  [[nodiscard]] Row row(const char* kernel, std::function<void()> work) const {
    const auto [num_tokens, in, out] = linear;
    return {.kernel = kernel,
            .shape = fmt::format("{} x {} -> {}", num_tokens, in, out),
            .flop = 2.0 * static_cast<double>(num_tokens) * static_cast<double>(in) * static_cast<double>(out),
            .bytes = 4.0 * static_cast<double>(num_tokens * in + in * out + num_tokens * out),
            .work = std::move(work)};
  }

  void append_rows(kernels::Gemm& gemm, std::vector<Row>& rows) {
    rows.push_back(row("forward", [&] { gemm.forward(x, weight, bias, y); }));
    rows.push_back(row("backward_input", [&] { gemm.backward_input(y, weight, x, Write::set); }));
    rows.push_back(row("backward_weight", [&] { gemm.backward_weight(y, x, weight, Write::set); }));
    rows.push_back(row("backward_weight, add", [&] { gemm.backward_weight(y, x, weight, Write::add); }));
  }

  Linear linear;
  tensor::Tensor x, weight, bias, y;
};

}  // namespace

int run_gemm_bench(const device::Device& device, bool json) {
  std::vector<Row> rows;
  Placed<Probes> probes(device);
  probes->append_rows(rows);
  std::deque<Placed<Operands>> operands;
  for (const Linear& linear : linears) operands.emplace_back(linear)->append_rows(probes->gemm, rows);
  measure_and_print(device, std::move(rows), budget_s, json);
  return 0;
}

}  // namespace trireme::bench
