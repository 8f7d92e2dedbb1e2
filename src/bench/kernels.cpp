// Sizes of GPT-2 124M: N tokens, D width, F mlp width, T context, H heads, K head size, V vocabulary, P padded row.
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/adamw.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/random.hpp"
#include "trireme/kernels/reduce.hpp"

#include "bench/operands.hpp"
#include "bench/placed.hpp"
#include "bench/report.hpp"
#include "bench/subjects.hpp"

namespace trireme::bench {

namespace {

using device::Arena;
using device::Device;
using kernels::Write;
using tensor::Tensor;

constexpr double budget_s = 0.5;
constexpr std::int64_t num_tokens = 1024;
constexpr std::int64_t width = 768;
constexpr std::int64_t mlp_width = 3072;
constexpr std::int64_t heads = 12;
constexpr std::int64_t head_size = 64;
constexpr std::int64_t head_chunk = 256;
constexpr std::int64_t vocab = 50257;
constexpr std::int64_t padded_vocab = 50304;
constexpr std::int64_t block_parameters = 12 * width * width;
constexpr double element_bytes = sizeof(float);
constexpr double adamw_streams = 7;  // reads weight, gradient, both moments; writes all but the gradient

/// A kernel whose floor is the memory: it moves `elements` fp32 numbers at least.
Row moving(const char* kernel, std::string shape, double elements, std::function<void()> work) {
  return {.kernel = kernel, .shape = std::move(shape), .bytes = elements * element_bytes, .work = std::move(work)};
}

std::string shape_text(std::int64_t rows, std::int64_t columns) {
  return fmt::format("{} x {}", rows, columns);
}

struct Norm {
  Norm(const Device& on, Arena& arena)
      : device(on),
        x(random_tensor(arena, {num_tokens, width})),
        y(random_tensor(arena, {num_tokens, width})),
        dx(random_tensor(arena, {num_tokens, width})),
        gain(random_tensor(arena, {width})),
        bias(random_tensor(arena, {width})),
        dgain(random_tensor(arena, {width})),
        dbias(random_tensor(arena, {width})),
        mean(random_tensor(arena, {num_tokens})),
        rstd(random_tensor(arena, {num_tokens})),
        scratch(random_tensor(arena, {kernels::norm_scratch_elements(num_tokens, width)})),
        sum_scratch(random_tensor(arena, {kernels::column_sum_scratch_elements(num_tokens, width)})) {}

  void append_rows(std::vector<Row>& rows) const {
    constexpr double elements = num_tokens * width;
    const std::string shape = shape_text(num_tokens, width);
    rows.push_back(moving("layer_norm forward", shape, 2 * elements,
                          [this] { kernels::layer_norm_forward(device, x, gain, bias, epsilon, y, mean, rstd); }));
    rows.push_back(moving("layer_norm backward", shape, 4 * elements, [this] {
      kernels::layer_norm_backward(device, y, x, gain, mean, rstd, dx, Write::add, dgain, dbias, Write::set, scratch);
    }));
    rows.push_back(moving("rms_norm forward", shape, 2 * elements,
                          [this] { kernels::rms_norm_forward(device, x, gain, epsilon, y, rstd); }));
    rows.push_back(
        moving("residual_add", shape, 3 * elements, [this] { kernels::residual_add(device, {}, x, y, dx); }));
    rows.push_back(moving("residual_add, dropout", shape, 3 * elements,
                          [this] { kernels::residual_add(device, {.probability = 0.1F, .seed = 1}, x, y, dx); }));
    rows.push_back(moving("column_sum", shape, elements,
                          [this] { kernels::column_sum(device, x, dbias, Write::set, sum_scratch); }));
  }

  static constexpr float epsilon = 1e-5F;
  const Device& device;
  Tensor x, y, dx, gain, bias, dgain, dbias, mean, rstd, scratch, sum_scratch;
};

struct Mlp {
  Mlp(const Device& on, Arena& arena)
      : device(on),
        x(random_tensor(arena, {num_tokens, mlp_width})),
        y(random_tensor(arena, {num_tokens, mlp_width})),
        dx(random_tensor(arena, {num_tokens, mlp_width})) {}

  void append_rows(std::vector<Row>& rows) const {
    constexpr double elements = num_tokens * mlp_width;
    const std::string shape = shape_text(num_tokens, mlp_width);
    rows.push_back(moving("gelu_tanh forward", shape, 2 * elements,
                          [this] { kernels::gelu_forward(device, kernels::Gelu::tanh, x, y); }));
    rows.push_back(moving("gelu_tanh backward", shape, 3 * elements,
                          [this] { kernels::gelu_backward(device, kernels::Gelu::tanh, y, x, dx); }));
    rows.push_back(
        moving("swiglu forward", shape, 3 * elements, [this] { kernels::swiglu_forward(device, x, y, dx); }));
  }

  const Device& device;
  Tensor x, y, dx;
};

struct Attention {
  Attention(const Device& on, Arena& arena)
      : device(on),
        log_sum_exp(random_tensor(arena, {1, heads, num_tokens})),
        scratch(tensor::allocate(arena, {kernels::attention_scratch_bytes(on, shape)}, Dtype::u8,
                                 device::MemoryClass::buffers)) {
    for (Tensor* operand : {&q, &k, &v, &out, &dout, &dq, &dk, &dv}) {
      *operand = random_tensor(arena, {1, num_tokens, heads, head_size});
    }
  }

  void append_rows(std::vector<Row>& rows) const {
    constexpr double product_flop = 1.0 * heads * num_tokens * num_tokens * head_size;  // 2 T T K, causal half
    const std::string text = fmt::format("T {}, {} heads of {}", num_tokens, heads, head_size);
    rows.push_back({.kernel = "attention forward", .shape = text, .flop = 2 * product_flop, .work = [this] {
                      kernels::attention_forward(device, shape, {}, q, k, v, {}, out, log_sum_exp, scratch);
                    }});
    rows.push_back({.kernel = "attention backward", .shape = text, .flop = 5 * product_flop, .work = [this] {
                      kernels::attention_backward(device, shape, {}, q, k, v, {}, out, log_sum_exp, dout, dq, dk, dv,
                                                  scratch);
                    }});
  }

  static constexpr kernels::AttentionShape shape{.batch = 1,
                                                 .queries = num_tokens,
                                                 .keys = num_tokens,
                                                 .heads = heads,
                                                 .kv_heads = heads,
                                                 .head_size = head_size,
                                                 .scale = 0.125F};
  const Device& device;
  Tensor q, k, v, out, dout, dq, dk, dv, log_sum_exp, scratch;
};

struct Loss {
  Loss(const Device& on, Arena& arena)
      : device(on),
        logits(random_tensor(arena, {head_chunk, padded_vocab})),
        targets(random_ids(arena, head_chunk, vocab)),
        coefficients(random_tensor(arena, {head_chunk})),
        log_probability(random_tensor(arena, {head_chunk})),
        statistics(random_tensor(arena, {head_chunk, 3})),
        normalizer(random_tensor(arena, {head_chunk, 2})) {}

  void append_rows(std::vector<Row>& rows) const {
    constexpr double elements = 1.0 * head_chunk * vocab;
    const std::string shape = shape_text(head_chunk, vocab);
    rows.push_back(moving("cross_entropy", shape, 2 * elements, [this] { forward(); }));
    rows.push_back(moving("cross_entropy, gradient", shape, 4 * elements, [this] {
      forward();
      kernels::cross_entropy_gradient(device, logits, vocab, 0, targets, coefficients, statistics, normalizer, logits);
    }));
  }
  void forward() const {
    kernels::cross_entropy_statistics(device, logits, vocab, 0, targets, statistics);
    kernels::cross_entropy_combine(device, statistics.reshaped({1, head_chunk, 3}), coefficients, log_probability,
                                   normalizer);
  }

  const Device& device;
  Tensor logits, targets, coefficients, log_probability, statistics, normalizer;
};

struct Update {
  Update(const Device& on, Arena& arena)
      : device(on),
        weight(random_tensor(arena, {block_parameters})),
        gradient(random_tensor(arena, {block_parameters})),
        first_moment(random_tensor(arena, {block_parameters})),
        second_moment(tensor::allocate(arena, {block_parameters}, Dtype::f32, device::MemoryClass::buffers)) {}

  void append_rows(std::vector<Row>& rows) const {
    constexpr double elements = block_parameters;
    const std::string shape = fmt::format("{}", block_parameters);
    rows.push_back(moving("adamw", shape, adamw_streams * elements, [this] {
      kernels::adamw_update(device, {.learning_rate = 1e-6, .weight_decay = 0.1}, block_parameters, weight.as<float>(),
                            gradient.as<float>(), nullptr, first_moment.as<float>(), second_moment.as<float>());
    }));
    rows.push_back(moving("add_to", shape, 3 * elements, [this] {
      kernels::add_to(device, block_parameters, gradient.as<float>(), first_moment.as<float>());
    }));
    rows.push_back(moving("sum_of_squares", shape, elements, [this] {
      kernels::ExactSum sum;
      kernels::sum_of_squares(device, block_parameters / width, width, gradient.as<float>(), nullptr, sum);
    }));
  }

  const Device& device;
  Tensor weight, gradient, first_moment, second_moment;
};

}  // namespace

void run_kernels(const Device& device, bool json) {
  std::vector<Row> rows;
  Placed<Probes> probes(device);
  Placed<Norm> norm(device);
  Placed<Mlp> mlp(device);
  Placed<Attention> attention(device);
  Placed<Loss> loss(device);
  Placed<Update> update(device);
  probes->append_rows(rows);
  norm->append_rows(rows);
  mlp->append_rows(rows);
  attention->append_rows(rows);
  loss->append_rows(rows);
  update->append_rows(rows);
  const Machine machine = measure(rows, budget_s);
  fmt::print("{}", json ? json_text(device, machine, rows) : table_text(device, machine, rows));
}

}  // namespace trireme::bench
