// The self-test of accumulation in the output.
#include <cmath>
#include <cstring>
#include <span>

#include "trireme/base/error.hpp"
#include "trireme/kernels/gemm.hpp"

#include "kernels/element.hpp"

namespace trireme::kernels {

namespace {

using device::MemoryClass;
using tensor::Tensor;

/// Numbers in [-1, 1) of magnitudes that differ by powers of two, the same ones on every machine.
class Numbers {
 public:
  float next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const auto mantissa = static_cast<float>(static_cast<std::int32_t>(state_ >> 32U)) * 0x1p-31F;
    return std::ldexp(mantissa, -static_cast<int>((state_ >> 28U) % 8U));
  }

 private:
  std::uint64_t state_ = 1;
};

void fill(const Tensor& target, Numbers& numbers) {
  with_element_type(target.dtype, [&](auto element) {
    using T = decltype(element);
    for (std::int64_t i = 0; i < target.size(); ++i) target.as<T>()[i] = from_float<T>(numbers.next());
  });
}

/// The tensors of a product in an arena; its output is fp32.
struct Trial {
  Trial(const device::Device& device, device::Arena& arena, Product of, std::int64_t num_tokens, std::int64_t in,
        std::int64_t out, Dtype dtype)
      : gemm(device, arena, dtype), product(of) {
    const auto make = [&](Product made_by, std::int64_t rows, std::int64_t columns) {
      return tensor::allocate(arena, {rows, columns}, made_by == of ? Dtype::f32 : dtype, MemoryClass::buffers);
    };
    y = make(Product::forward, num_tokens, out);
    x = make(Product::backward_input, num_tokens, in);
    weight = make(Product::backward_weight, out, in);
    partial = tensor::allocate(arena, output().shape, Dtype::f32, MemoryClass::buffers);
  }

  [[nodiscard]] Tensor& output() {
    return product == Product::forward ? y : product == Product::backward_input ? x : weight;
  }

  void compute(Write write) {
    switch (product) {
      case Product::forward:
        return gemm.forward(x, weight, {}, y, write);
      case Product::backward_input:
        return gemm.backward_input(y, weight, x, write);
      case Product::backward_weight:
        return gemm.backward_weight(y, x, weight, write);
    }
  }

  Gemm gemm;
  Product product;
  Tensor x, weight, y, partial;
};

}  // namespace

bool sum_post_op_is_exact(const device::Device& device, Product product, std::int64_t num_tokens, std::int64_t in,
                          std::int64_t out, Dtype dtype) {
  device::Arena measuring;
  const Trial layout(device, measuring, product, num_tokens, in, out, dtype);
  device::Arena arena(measuring.used_bytes());
  Trial trial(device, arena, product, num_tokens, in, out, dtype);
  Numbers numbers;
  for (const Tensor& tensor : {trial.x, trial.weight, trial.y}) fill(tensor, numbers);

  const Tensor added = trial.output();
  trial.output() = trial.partial;
  trial.compute(Write::set);
  trial.output() = added;
  const std::span separate(trial.partial.as<float>(), static_cast<std::size_t>(added.size()));
  for (std::size_t i = 0; i < separate.size(); ++i) separate[i] += added.as<float>()[i];
  trial.compute(Write::add);
  return std::memcmp(added.data, separate.data(), added.bytes()) == 0;
}

}  // namespace trireme::kernels
