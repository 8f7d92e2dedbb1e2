// The three products in bf16 and fp16 against a double-precision reference, at sizes that divide nothing.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "trireme/kernels/gemm.hpp"
#include "trireme/tensor/tensor.hpp"

#include "kernels/element.hpp"

namespace trireme::kernels {
namespace {

using device::Device;
using device::MemoryClass;
using tensor::Tensor;

struct Sizes {
  std::int64_t tokens, in, out;
};

/// A Gemm with a device, and tensors of random numbers on 64 bytes.
class Rank {
 public:
  Rank(int num_threads, Dtype compute, device::Isa isa = device::detect_isa())
      : gemm_device({.num_threads = num_threads, .isa = isa}),
        gemm_arena(static_cast<std::size_t>(num_threads) * (std::size_t{12} << 20U)),
        gemm(gemm_device, gemm_arena, compute) {}

  Tensor zeros(std::int64_t rows, std::int64_t columns, Dtype dtype) {
    arenas_.emplace_back(static_cast<std::size_t>(rows * columns) * sizeof(float) + 64);
    return tensor::allocate(arenas_.back(), {rows, columns}, dtype, MemoryClass::buffers);
  }
  Tensor random(std::int64_t rows, std::int64_t columns, Dtype dtype, std::uint32_t seed) {
    Tensor made = zeros(rows, columns, dtype);
    std::uint32_t state = seed * 2654435761U + 12345U;
    with_element_type(dtype, [&](auto element) {
      using T = decltype(element);
      for (std::int64_t i = 0; i < made.size(); ++i) {
        state = state * 1664525U + 1013904223U;
        made.as<T>()[i] = from_float<T>(static_cast<float>(state >> 8U) * 0x1p-23F - 1.0F);
      }
    });
    return made;
  }

  Device gemm_device;
  device::Arena gemm_arena;
  Gemm gemm;

 private:
  std::vector<device::Arena> arenas_;
};

float at(const Tensor& matrix, std::int64_t row, std::int64_t column) {
  float value = 0;
  with_element_type(matrix.dtype, [&](auto element) {
    value = to_float(matrix.as<decltype(element)>()[row * matrix.shape.columns() + column]);
  });
  return value;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const auto* first = static_cast<const std::byte*>(tensor.data);
  return {first, first + tensor.bytes()};
}

/// The operands and the output of one product. in, out and the tokens stand as Product says.
struct Case {
  Case(Rank& rank, Product of, const Sizes& sizes, Dtype compute, Dtype output)
      : product(of),
        y(rank.random(sizes.tokens, sizes.out, of == Product::forward ? output : compute, 1)),
        x(rank.random(sizes.tokens, sizes.in, of == Product::backward_input ? output : compute, 2)),
        weight(rank.random(sizes.out, sizes.in, of == Product::backward_weight ? output : compute, 3)),
        bias(rank.random(1, sizes.out, Dtype::f32, 4)) {}

  [[nodiscard]] const Tensor& result() const {
    return product == Product::forward ? y : product == Product::backward_input ? x : weight;
  }
  [[nodiscard]] std::int64_t depth() const {
    switch (product) {
      case Product::forward:
        return x.shape.columns();
      case Product::backward_input:
        return weight.shape.rows();
      default:
        return y.shape.rows();
    }
  }
  [[nodiscard]] double term(std::int64_t i, std::int64_t j, std::int64_t k) const {
    switch (product) {
      case Product::forward:
        return static_cast<double>(at(x, i, k)) * at(weight, j, k);
      case Product::backward_input:
        return static_cast<double>(at(y, i, k)) * at(weight, k, j);
      default:
        return static_cast<double>(at(y, k, i)) * at(x, k, j);
    }
  }
  void compute(Gemm& gemm, Write write) const {
    switch (product) {
      case Product::forward:
        return gemm.forward(x, weight, bias.reshaped({bias.size()}), y, write);
      case Product::backward_input:
        return gemm.backward_input(y, weight, x, write);
      case Product::backward_weight:
        return gemm.backward_weight(y, x, weight, write);
    }
  }

  Product product;
  Tensor y, x, weight, bias;
};

/// Half the distance of neighbours of 1: what a rounding changes at most, relatively.
double rounding_of(Dtype dtype) {
  return dtype == Dtype::bf16 ? 0x1p-8 : dtype == Dtype::f16 ? 0x1p-11 : 0;
}

void expect_product(const Case& computed, const std::vector<float>& before) {
  const Tensor& c = computed.result();
  const std::int64_t depth = computed.depth();
  const std::int64_t step = 1 + c.size() * depth / 400'000;
  for (std::int64_t index = 0; index < c.size(); index += step) {
    const std::int64_t i = index / c.shape.columns();
    const std::int64_t j = index % c.shape.columns();
    double sum = before.empty() ? 0 : before[static_cast<std::size_t>(index)];
    if (computed.product == Product::forward) sum += computed.bias.as<float>()[j];
    double magnitude = std::abs(sum);
    for (std::int64_t k = 0; k < depth; ++k) {
      const double term = computed.term(i, j, k);
      sum += term;
      magnitude += std::abs(term);
    }
    // The sum is in fp32 and rounded once; fp16 has denormals below 2^-14.
    const double once = 1.001 * rounding_of(c.dtype) * std::abs(sum) + (c.dtype == Dtype::f16 ? 0x1p-25 : 0);
    ASSERT_NEAR(at(c, i, j), sum, once + 1e-6 * magnitude + 1e-30) << "at " << i << ", " << j;
  }
}

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < tensor.shape.rows(); ++i) {
    for (std::int64_t j = 0; j < tensor.shape.columns(); ++j) values.push_back(at(tensor, i, j));
  }
  return values;
}

using Tested = std::tuple<Dtype, bool, Product, Sizes>;
class HalfGemm : public testing::TestWithParam<Tested> {
 protected:
  [[nodiscard]] Dtype compute() const { return std::get<0>(GetParam()); }
  [[nodiscard]] Dtype output() const { return std::get<1>(GetParam()) ? compute() : Dtype::f32; }
  [[nodiscard]] bool exists() const { return product() != Product::backward_weight || output() == Dtype::f32; }
  [[nodiscard]] Product product() const { return std::get<2>(GetParam()); }
  [[nodiscard]] Sizes sizes() const { return std::get<3>(GetParam()); }
};

TEST_P(HalfGemm, SetsAndAddsRoundedOnce) {
  if (!exists()) return;
  Rank rank(2, compute());
  const Case tested(rank, product(), sizes(), compute(), output());
  tested.compute(rank.gemm, Write::set);
  expect_product(tested, {});
  const std::vector<float> before = floats_of(tested.result());
  tested.compute(rank.gemm, Write::add);
  expect_product(tested, before);
}

TEST_P(HalfGemm, AddsToFp32AWholeProduct) {
  if (output() != Dtype::f32) return;
  Rank rank(2, compute());
  const Case added(rank, product(), sizes(), compute(), output());
  const Case separate(rank, product(), sizes(), compute(), output());
  const std::vector<float> before = floats_of(added.result());
  added.compute(rank.gemm, Write::add);
  separate.compute(rank.gemm, Write::set);
  std::vector<float> sum = floats_of(separate.result());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += before[i];
  EXPECT_EQ(floats_of(added.result()), sum);
}

TEST_P(HalfGemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  if (!exists()) return;
  std::vector<std::vector<std::byte>> results;
  for (const int threads : {1, 2, 3}) {
    Rank rank(threads, compute());
    const Case tested(rank, product(), sizes(), compute(), output());
    tested.compute(rank.gemm, Write::add);
    tested.compute(rank.gemm, Write::add);
    results.push_back(bytes_of(tested.result()));
  }
  EXPECT_TRUE(results[0] == results[1]);
  EXPECT_TRUE(results[0] == results[2]);
}

std::string name_of_tested(const testing::TestParamInfo<Tested>& tested) {
  const auto& [compute, to_half, product, sizes] = tested.param;
  const char* const products[] = {"Forward", "BackwardInput", "BackwardWeight"};
  return fmt::format("{}{}{}N{}In{}Out{}", name_of(compute), to_half ? "ToHalf" : "ToFp32",
                     products[static_cast<std::size_t>(product)], sizes.tokens, sizes.in, sizes.out);
}

INSTANTIATE_TEST_SUITE_P(
    Awkward, HalfGemm,
    testing::Combine(testing::Values(Dtype::bf16, Dtype::f16), testing::Bool(),
                     testing::Values(Product::forward, Product::backward_input, Product::backward_weight),
                     testing::Values(Sizes{1, 1, 1}, Sizes{1, 33, 97}, Sizes{7, 1, 33}, Sizes{33, 97, 1},
                                     Sizes{257, 1025, 97}, Sizes{33, 2050, 257}, Sizes{1025, 97, 33},
                                     Sizes{33, 257, 2050}, Sizes{257, 770, 771})),
    name_of_tested);

TEST(HalfGemm, EqualsFp32OfTheWidenedOperandsUpToTheOrderOfTheSum) {
  Rank rank(2, Dtype::f16);
  const Sizes sizes{257, 770, 771};
  const Case half(rank, Product::forward, sizes, Dtype::f16, Dtype::f32);
  const Case whole(rank, Product::forward, sizes, Dtype::f32, Dtype::f32);
  for (const auto& [from, to] : {std::pair{half.x, whole.x}, {half.weight, whole.weight}}) {
    const std::vector<float> values = floats_of(from);
    std::memcpy(to.data, values.data(), to.bytes());
  }
  half.compute(rank.gemm, Write::set);
  whole.compute(rank.gemm, Write::set);
  EXPECT_EQ(floats_of(half.result()), floats_of(whole.result()));
}

// The library then copies a whole piece of the output.
TEST(HalfGemm, AddsAProductWithABiasToTheLargestPieces) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    Rank rank(2, compute);
    const Case tested(rank, Product::forward, {1024, 330, 4100}, compute, Dtype::f32);
    const std::vector<float> before = floats_of(tested.result());
    tested.compute(rank.gemm, Write::add);
    expect_product(tested, before);
  }
}

// Rows of halves over rows of floats, as the gradient of the logits has them: the rest of a row is not read.
TEST(HalfGemm, ReadsRowsLongerThanTheirNumbers) {
  for (const Dtype compute : {Dtype::bf16, Dtype::f16}) {
    Rank rank(2, compute);
    const Sizes sizes{33, 130, 97};
    const Case plain(rank, Product::backward_input, sizes, compute, Dtype::f32);
    Case padded = plain;
    padded.y = rank.zeros(sizes.tokens, 224, compute);
    padded.x = rank.zeros(sizes.tokens, sizes.in, Dtype::f32);
    std::memset(padded.y.data, 0xFF, padded.y.bytes());
    for (std::int64_t row = 0; row < sizes.tokens; ++row) {
      std::memcpy(static_cast<Bf16*>(padded.y.data) + row * 224,
                  static_cast<const Bf16*>(plain.y.data) + row * sizes.out, 2 * sizes.out);
    }
    plain.compute(rank.gemm, Write::set);
    padded.compute(rank.gemm, Write::set);
    const std::vector<float> expected = floats_of(plain.result());
    const std::vector<float> found = floats_of(padded.result());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4) << i;
  }
}

TEST(HalfGemm, CarriesInfinitiesAndOverflow) {
  Rank rank(1, Dtype::f16);
  Case tested(rank, Product::forward, {2, 3, 2}, Dtype::f16, Dtype::f16);
  std::memset(tested.bias.data, 0, tested.bias.bytes());
  for (std::int64_t i = 0; i < 6; ++i) {
    tested.x.as<Fp16>()[i] = from_float<Fp16>(i < 3 ? 1.0F : 200.0F);
    tested.weight.as<Fp16>()[i] = from_float<Fp16>(i < 3 ? 200.0F : 1.0F);
  }
  tested.compute(rank.gemm, Write::set);
  EXPECT_EQ(floats_of(tested.y), (std::vector<float>{600, 3, INFINITY, 600}));
}

TEST(SumPostOp, IsExactInHalfPrecisionAtEveryWidth) {
  const Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    for (const std::int64_t width : {48, 768, 1280, 1536, 1792, 1920, 6288}) {
      for (const Product product : {Product::forward, Product::backward_input, Product::backward_weight}) {
        const bool of_tokens = product == Product::backward_weight;
        EXPECT_TRUE(sum_post_op_is_exact(device, product, of_tokens ? width : 33,
                                         product == Product::forward ? width : 65,
                                         product == Product::backward_input ? width : 65, dtype))
            << name_of(dtype) << ' ' << width;
      }
    }
  }
}

/// Writes the bytes of products in fp32 on `isa` to a file and ends the process: oneDNN has one set in a process.
[[noreturn]] void write_products(device::Isa isa, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (const Product product : {Product::forward, Product::backward_input, Product::backward_weight}) {
    Rank tensors(2, Dtype::f32, isa);
    const Case tested(tensors, product, {515, 770, 1100}, Dtype::f32, Dtype::f32);
    tested.compute(tensors.gemm, Write::add);
    const auto bytes = bytes_of(tested.result());
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  file.close();
  std::_Exit(file ? 0 : 1);
}

TEST(GemmIsa, Fp32HasTheSameBitsOnEveryLevelFromAvx512) {
  if (device::detect_isa() <= device::Isa::avx512) GTEST_SKIP() << "this processor has no level above";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The same name in the process that a death test starts.
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("trireme_products_{}", getuid())).string();
  std::vector<std::string> contents;
  for (const device::Isa isa : {device::Isa::avx512, device::Isa::avx512_bf16, device::Isa::amx}) {
    if (isa > device::detect_isa()) continue;
    const std::string of_isa = fmt::format("{}_{}", path, name_of(isa));
    EXPECT_EXIT(write_products(isa, of_isa), testing::ExitedWithCode(0), "");
    std::ifstream file(of_isa, std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    std::filesystem::remove(of_isa);
    EXPECT_GT(contents.back().size(), 1'000'000U);
    EXPECT_TRUE(contents.back() == contents.front()) << name_of(isa);
  }
}

}  // namespace
}  // namespace trireme::kernels
