#include "trireme/kernels/gemm.hpp"

#include <deque>

#include <fmt/format.h>

#include "bench/operands.hpp"
#include "bench/placed.hpp"
#include "bench/report.hpp"
#include "bench/subjects.hpp"

namespace trireme::bench {

namespace {

using kernels::Gemm;
using kernels::Write;

constexpr double budget_s = 0.1;

struct Linear {
  std::int64_t num_tokens, in, out;
  std::int64_t padded_out = out;  ///< row length of y
  bool logits = false;            ///< y is fp32 whatever the operands are
};

// GPT-2 124M: projections, both halves of the MLP, and the head, which works on chunks of 256 tokens.
constexpr Linear linears[] = {{256, 768, 768},
                              {1024, 768, 768},
                              {256, 768, 3072},
                              {1024, 768, 3072},
                              {256, 3072, 768},
                              {1024, 3072, 768},
                              {.num_tokens = 256, .in = 768, .out = 50257, .padded_out = 50304, .logits = true}};

/// What multiplies operands of a type.
struct Library {
  Library(const device::Device& device, Dtype dtype, device::Arena& arena) : gemm(device, arena, dtype) {}
  Gemm gemm;
};

/// A layer in one type. Outputs are never read, so the numbers stay as they are.
struct Operands {
  Operands(const Linear& of, Dtype type, device::Arena& arena)
      : linear(of),
        dtype(type),
        x(random_tensor(arena, {of.num_tokens, of.in}, type)),
        weight(random_tensor(arena, {of.out, of.in}, type)),
        bias(random_tensor(arena, {of.out})),
        dy(random_tensor(arena, {of.num_tokens, of.padded_out}, type)),
        y(random_tensor(arena, {of.num_tokens, of.padded_out}, of.logits ? Dtype::f32 : type)),
        dx(random_tensor(arena, {of.num_tokens, of.in}, type)),
        dweight(random_tensor(arena, {of.out, of.in})) {}

  [[nodiscard]] Row row(const char* kernel, std::size_t bytes, std::function<void()> work) const {
    return {.kernel = kernel,
            .shape = fmt::format("{} x {} -> {}", linear.num_tokens, linear.in, linear.out),
            .dtype = dtype,
            .flop = 2.0 * static_cast<double>(linear.num_tokens * linear.in) * static_cast<double>(linear.out),
            .bytes = static_cast<double>(bytes),
            .work = std::move(work)};
  }

  void append_rows(Gemm& gemm, std::vector<Row>& rows) {
    const std::size_t gradient_bytes = dy.bytes() + x.bytes() + dweight.bytes();
    rows.push_back(
        row("forward", x.bytes() + weight.bytes() + y.bytes(), [this, &gemm] { gemm.forward(x, weight, bias, y); }));
    rows.push_back(row("backward_input", dy.bytes() + weight.bytes() + dx.bytes(),
                       [this, &gemm] { gemm.backward_input(dy, weight, dx, Write::set); }));
    rows.push_back(
        row("backward_weight", gradient_bytes, [this, &gemm] { gemm.backward_weight(dy, x, dweight, Write::set); }));
    rows.push_back(row("backward_weight, add", gradient_bytes + dweight.bytes(),
                       [this, &gemm] { gemm.backward_weight(dy, x, dweight, Write::add); }));
  }

  Linear linear;
  Dtype dtype;
  tensor::Tensor x, weight, bias, dy, y, dx, dweight;
};

}  // namespace

void run_gemm(const device::Device& device, bool json) {
  std::vector<Row> rows;
  Placed<Probes> probes(device);
  probes->append_rows(rows);
  std::deque<Placed<Library>> libraries;
  std::deque<Placed<Operands>> operands;
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    Gemm& gemm = libraries.emplace_back(device, dtype)->gemm;
    for (const Linear& linear : linears) operands.emplace_back(linear, dtype)->append_rows(gemm, rows);
  }
  const Machine machine = measure(rows, budget_s);
  fmt::print("{}", json ? json_text(device, machine, rows) : gemm_table_text(device, machine, rows));
}

}  // namespace trireme::bench
