// Kernels on bf16 and fp16 tensors compute in fp32 and round once: their results are the rounded results of fp32
// kernels on the same numbers.
#include <functional>

#include <gtest/gtest.h>

#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/cast.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/random.hpp"
#include "trireme/kernels/rotary.hpp"

#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using tensor::Tensor;
using test::Array;

constexpr std::int64_t rows = 33;
constexpr std::int64_t width = 50;  // three vectors and a tail

// Calls kernel(in, in, out) on halves and on the same numbers in fp32, on every device, and compares.
template <class Half>
void expect_rounded(const std::function<void(const device::Device&, Tensor, Tensor, Tensor)>& kernel) {
  test::for_each_device([&](const device::Device& device) {
    test::Numbers numbers(4);
    Array<float> a = numbers.floats({rows, width});
    Array<float> b = numbers.floats({rows, width});
    Array<float> out = numbers.floats({rows, width});
    Array<Half> half_a({rows, width});
    Array<Half> half_b({rows, width});
    Array<Half> half_out({rows, width});
    Array<Half> rounded({rows, width});
    for (const auto& [full, half] : {std::pair{a.tensor(), half_a.tensor()}, std::pair{b.tensor(), half_b.tensor()},
                                     std::pair{out.tensor(), half_out.tensor()}}) {
      cast(device, full, half);
      cast(device, half, full);
    }
    kernel(device, a.tensor(), b.tensor(), out.tensor());
    kernel(device, half_a.tensor(), half_b.tensor(), half_out.tensor());
    cast(device, out.tensor(), rounded.tensor());
    EXPECT_TRUE(test::same_bits(half_out.values(), rounded.values()));
  });
}

void expect_rounded_halves(const std::function<void(const device::Device&, Tensor, Tensor, Tensor)>& kernel) {
  expect_rounded<Bf16>(kernel);
  expect_rounded<Fp16>(kernel);
}

TEST(Halves, RoundActivationsOnce) {
  for (const Gelu kind : {Gelu::exact, Gelu::tanh}) {
    expect_rounded_halves([kind](const device::Device& device, const Tensor& x, const Tensor&, const Tensor& y) {
      gelu_forward(device, kind, x, y);
    });
    expect_rounded_halves([kind](const device::Device& device, const Tensor& x, const Tensor& dy, const Tensor& dx) {
      gelu_backward(device, kind, dy, x, dx);
    });
  }
  expect_rounded_halves([](const device::Device& device, const Tensor& gate, const Tensor& up, const Tensor& y) {
    swiglu_forward(device, gate, up, y);
  });
}

TEST(Halves, RoundNormsOnceAndSumTheirParametersInFloat) {
  test::Numbers numbers(6);
  Array<float> gain = numbers.floats({width});
  Array<float> bias = numbers.floats({width});
  Array<float> mean = numbers.floats({rows}, -0.1, 0.1);
  Array<float> rstd = numbers.floats({rows}, 0.5, 1);
  Array<float> scratch({norm_scratch_elements(rows, width)});
  Array<float> dgain({width});
  Array<float> dbias({width});
  std::vector<std::vector<float>> seen;
  expect_rounded_halves([&](const device::Device& device, const Tensor& x, const Tensor&, const Tensor& y) {
    Array<float> new_mean({rows});
    Array<float> new_rstd({rows});
    layer_norm_forward(device, x, gain.tensor(), bias.tensor(), 1e-5F, y, new_mean.tensor(), new_rstd.tensor());
  });
  expect_rounded_halves([&](const device::Device& device, const Tensor& x, const Tensor& dy, const Tensor& dx) {
    layer_norm_backward(device, dy, x, gain.tensor(), mean.tensor(), rstd.tensor(), dx, Write::add, dgain.tensor(),
                        dbias.tensor(), Write::set, scratch.tensor());
    seen.push_back(dgain.values());
    seen.push_back(dbias.values());
  });
  // Calls come in pairs, fp32 then half, each with two results.
  for (std::size_t i = 0; i + 3 < seen.size(); i += 4) {
    EXPECT_TRUE(test::same_bits(seen[i], seen[i + 2]));
    EXPECT_TRUE(test::same_bits(seen[i + 1], seen[i + 3]));
  }
}

TEST(Halves, RoundResidualsDropoutAndRotationsOnce) {
  const Dropout dropout{.probability = 0.3F, .seed = 1, .site = 2, .step = 3, .first_sequence = 4, .tokens = 2};
  expect_rounded_halves([&](const device::Device& device, const Tensor& x, const Tensor& branch, const Tensor& out) {
    residual_add(device, dropout, x, branch, out);
  });
  test::Numbers numbers(8);
  Array<std::int32_t> positions = numbers.integers({rows}, 0, 20);
  Array<float> table({20, width / 5});
  rotary_table(500, table.tensor());
  expect_rounded_halves([&](const device::Device& device, const Tensor&, const Tensor&, const Tensor& x) {
    rotary_apply(device, table.tensor(), positions.tensor(), Rotation::forward, x.reshaped({rows, 5, width / 5}));
  });
}

TEST(Halves, RoundEmbeddingsOnceAndAddTheirGradientsInFloat) {
  test::Numbers numbers(8);
  Array<std::int32_t> ids = numbers.integers({rows}, 0, rows);
  expect_rounded_halves(
      [&](const device::Device& device, const Tensor& tokens, const Tensor& positions, const Tensor& y) {
        embedding_forward(device, ids.tensor(), 0, tokens, y, Write::set);
        embedding_forward(device, ids.tensor(), 0, positions, y, Write::add);
      });
  std::vector<std::vector<float>> seen;
  expect_rounded_halves([&](const device::Device& device, const Tensor& dy, const Tensor&, const Tensor&) {
    Array<float> gradient({rows, width});
    embedding_backward(device, ids.tensor(), 0, dy, gradient.tensor());
    seen.push_back(gradient.values());
  });
  for (std::size_t i = 0; i + 1 < seen.size(); i += 2) EXPECT_TRUE(test::same_bits(seen[i], seen[i + 1]));
}

}  // namespace
}  // namespace trireme::kernels
