// Kernels on bf16 and fp16 tensors compute in fp32 and round once: their results are the rounded results of fp32
// kernels on the same numbers.
#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/cast.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/random.hpp"
#include "trireme/kernels/reduce.hpp"
#include "trireme/kernels/rotary.hpp"

#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using tensor::Tensor;
using test::Array;

constexpr std::int64_t rows = 33;
constexpr std::int64_t width = 50;  // three vectors and a tail

using Kernel = std::function<void(const device::Device&, const std::vector<Tensor>&)>;

// Calls the kernel with `count` tensors of halves and with the same numbers in fp32, on every device, and compares all.
template <class Half>
void expect_rounded(std::size_t count, const Kernel& kernel) {
  test::for_each_device([&](const device::Device& device) {
    test::Numbers numbers(4);
    std::vector<Array<float>> full;
    std::vector<Array<Half>> half;
    std::vector<Tensor> full_views;
    std::vector<Tensor> half_views;
    for (std::size_t i = 0; i < count; ++i) {
      full.push_back(numbers.floats({rows, width}));
      half.emplace_back(tensor::Shape{rows, width});
    }
    for (std::size_t i = 0; i < count; ++i) {
      cast(device, full[i].tensor(), half[i].tensor());
      cast(device, half[i].tensor(), full[i].tensor());
      full_views.push_back(full[i].tensor());
      half_views.push_back(half[i].tensor());
    }
    kernel(device, full_views);
    kernel(device, half_views);
    for (std::size_t i = 0; i < count; ++i) {
      Array<Half> rounded({rows, width});
      cast(device, full[i].tensor(), rounded.tensor());
      EXPECT_TRUE(test::same_bits(half[i].values(), rounded.values())) << "tensor " << i;
    }
  });
}

void expect_rounded_halves(std::size_t count, const Kernel& kernel) {
  expect_rounded<Bf16>(count, kernel);
  expect_rounded<Fp16>(count, kernel);
}

// What a kernel gives in fp32 beside its tensors: the calls come in pairs, fp32 then half, which must give the same.
class Sums {
 public:
  explicit Sums(const tensor::Shape& shape) : now_(shape) {}
  ~Sums() {
    EXPECT_GT(seen_.size(), 0U);
    for (std::size_t i = 0; i + 1 < seen_.size(); i += 2) EXPECT_TRUE(test::same_bits(seen_[i], seen_[i + 1]));
  }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  /// Memory for a call: what the former one left is kept, and forgotten here.
  [[nodiscard]] Tensor start() {
    std::fill(now_.values().begin(), now_.values().end(), 0.25F);
    return now_.tensor();
  }
  void done() { seen_.push_back(now_.values()); }

 private:
  Array<float> now_;
  std::vector<std::vector<float>> seen_;
};

TEST(Halves, RoundActivationsOnce) {
  for (const Gelu kind : {Gelu::exact, Gelu::tanh}) {
    expect_rounded_halves(
        2, [kind](const device::Device& device, const auto& t) { gelu_forward(device, kind, t[0], t[1]); });
    expect_rounded_halves(
        3, [kind](const device::Device& device, const auto& t) { gelu_backward(device, kind, t[0], t[1], t[2]); });
  }
  expect_rounded_halves(3,
                        [](const device::Device& device, const auto& t) { swiglu_forward(device, t[0], t[1], t[2]); });
  expect_rounded_halves(
      5, [](const device::Device& device, const auto& t) { swiglu_backward(device, t[0], t[1], t[2], t[3], t[4]); });
}

TEST(Halves, RoundLayerNormsOnceAndSumTheirParametersInFloat) {
  test::Numbers numbers(6);
  Array<float> gain = numbers.floats({width});
  Array<float> bias = numbers.floats({width});
  Array<float> mean = numbers.floats({rows}, -0.1, 0.1);
  Array<float> rstd = numbers.floats({rows}, 0.5, 1);
  Array<float> scratch({norm_scratch_elements(rows, width)});
  Sums statistics({2, rows});
  expect_rounded_halves(2, [&](const device::Device& device, const auto& t) {
    const Tensor out = statistics.start();
    layer_norm_forward(device, t[0], gain.tensor(), bias.tensor(), 1e-5F, t[1], out.rows(0, 1), out.rows(1, 1));
    statistics.done();
  });
  Sums gradients({2, width});
  for (const Write write : {Write::set, Write::add}) {
    expect_rounded_halves(3, [&](const device::Device& device, const auto& t) {
      const Tensor out = gradients.start();
      layer_norm_backward(device, t[0], t[1], gain.tensor(), mean.tensor(), rstd.tensor(), t[2], write, out.rows(0, 1),
                          out.rows(1, 1), write, scratch.tensor());
      gradients.done();
    });
  }
}

TEST(Halves, RoundRmsNormsOnceAndSumTheirParametersInFloat) {
  test::Numbers numbers(6);
  Array<float> gain = numbers.floats({width});
  Array<float> rstd = numbers.floats({rows}, 0.5, 1);
  Array<float> scratch({norm_scratch_elements(rows, width)});
  Sums statistics({rows});
  expect_rounded_halves(2, [&](const device::Device& device, const auto& t) {
    rms_norm_forward(device, t[0], gain.tensor(), 1e-5F, t[1], statistics.start());
    statistics.done();
  });
  Sums gradients({width});
  for (const Write write : {Write::set, Write::add}) {
    expect_rounded_halves(3, [&](const device::Device& device, const auto& t) {
      rms_norm_backward(device, t[0], t[1], gain.tensor(), rstd.tensor(), t[2], write, gradients.start(), write,
                        scratch.tensor());
      gradients.done();
    });
  }
}

TEST(Halves, RoundResidualsAndDropoutOnce) {
  for (const float probability : {0.0F, 0.3F}) {
    const Dropout dropout{
        .probability = probability, .seed = 1, .site = 2, .step = 3, .first_sequence = 4, .tokens = 2};
    expect_rounded_halves(
        3, [&](const device::Device& device, const auto& t) { residual_add(device, dropout, t[0], t[1], t[2]); });
    expect_rounded_halves(
        2, [&](const device::Device& device, const auto& t) { dropout_apply(device, dropout, t[0], t[1]); });
  }
}

TEST(Halves, RoundRotationsOnce) {
  test::Numbers numbers(8);
  Array<std::int32_t> positions = numbers.integers({rows}, 0, 20);
  Array<float> table({20, width / 5});
  rotary_table(500, table.tensor());
  for (const Rotation rotation : {Rotation::forward, Rotation::backward}) {
    expect_rounded_halves(1, [&](const device::Device& device, const auto& t) {
      rotary_apply(device, table.tensor(), positions.tensor(), rotation, t[0].reshaped({rows, 5, width / 5}));
    });
  }
}

TEST(Halves, AddColumnsInFloat) {
  Array<float> scratch({column_sum_scratch_elements(rows, width)});
  Sums sums({width});
  for (const Write write : {Write::set, Write::add}) {
    expect_rounded_halves(1, [&](const device::Device& device, const auto& t) {
      column_sum(device, t[0], sums.start(), write, scratch.tensor());
      sums.done();
    });
  }
}

TEST(Halves, RoundEmbeddingsOnceAndAddTheirGradientsInFloat) {
  test::Numbers numbers(8);
  Array<std::int32_t> ids = numbers.integers({rows}, 0, rows);
  expect_rounded_halves(3, [&](const device::Device& device, const auto& t) {
    embedding_forward(device, ids.tensor(), 0, t[0], t[2], Write::set);
    embedding_forward(device, ids.tensor(), 3, t[1], t[2], Write::add);
  });
  Sums gradient({rows, width});
  expect_rounded_halves(1, [&](const device::Device& device, const auto& t) {
    embedding_backward(device, ids.tensor(), 0, t[0], gradient.start());
    gradient.done();
  });
}

TEST(Halves, AddRowsOfAHalfTableInFloat) {
  test::Numbers numbers(9);
  Array<std::int32_t> ids = numbers.integers({rows}, 0, rows);
  Sums y({rows, width});
  for (const Write write : {Write::set, Write::add}) {
    expect_rounded_halves(1, [&](const device::Device& device, const auto& t) {
      embedding_forward(device, ids.tensor(), 3, t[0], y.start(), write);
      y.done();
    });
  }
}

TEST(Halves, AreConvertedToTheSameBitsOnEveryDevice) {
  // All sorts of bits: NaNs of any payload, infinities, numbers that overflow or become denormal.
  Array<float> x({70001});
  std::uint32_t bits = 1;
  for (float& value : x.values()) {
    bits = bits * 1664525U + 1013904223U;
    const std::uint32_t exponent = bits % 3 == 0   ? 0x7F800000U
                                   : bits % 3 == 1 ? 0x33000000U + (bits & 0x1F800000U)
                                                   : 0U;
    const std::uint32_t word = exponent == 0 ? bits : (bits & 0x807FFFFFU) | exponent;
    std::memcpy(&value, &word, sizeof value);
  }
  const auto converted = [&](const device::Device& device, auto half) {
    Array<decltype(half)> result({70001});
    cast(device, x.tensor(), result.tensor());
    return result.values();
  };
  const device::Device first({.num_threads = 1, .isa = device::Isa::generic});
  test::for_each_device([&](const device::Device& device) {
    EXPECT_TRUE(test::same_bits(converted(device, Bf16{}), converted(first, Bf16{})));
    EXPECT_TRUE(test::same_bits(converted(device, Fp16{}), converted(first, Fp16{})));
  });
}

}  // namespace
}  // namespace trireme::kernels
