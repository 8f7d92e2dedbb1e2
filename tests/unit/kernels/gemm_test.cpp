// The three products against a double-precision reference, at sizes that divide nothing.
#include "trireme/kernels/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "trireme/base/error.hpp"

#include "kernels/host/gemm_pieces.hpp"
#include "kernels/host/one_thread.hpp"

namespace trireme::kernels {
namespace {

using device::Device;
using tensor::Shape;
using tensor::Tensor;

constexpr std::size_t alignment = 64;

/// A tensor that owns its memory, on 64 bytes.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t columns, Dtype dtype = Dtype::f32) {
    tensor_.shape = {rows, columns};
    tensor_.dtype = dtype;
    memory_.resize(tensor_.bytes() + 2 * alignment);
    void* start = memory_.data();
    std::size_t space = memory_.size();
    tensor_.data = std::align(alignment, tensor_.bytes() + 1, start, space);
  }
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] std::int64_t rows() const { return tensor_.shape[0]; }
  [[nodiscard]] std::int64_t columns() const { return tensor_.shape[1]; }
  [[nodiscard]] float& at(std::int64_t row, std::int64_t column) const {
    return tensor_.as<float>()[row * columns() + column];
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    const auto* first = static_cast<const std::byte*>(tensor_.data);
    return {first, first + tensor_.bytes()};
  }

 private:
  Tensor tensor_;
  std::vector<std::byte> memory_;
};

Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint32_t seed) {
  Matrix matrix(rows, columns);
  std::uint32_t state = seed * 2654435761U + 12345U;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    state = state * 1664525U + 1013904223U;
    matrix.tensor().as<float>()[i] = static_cast<float>(state >> 8U) * 0x1p-23F - 1.0F;
  }
  return matrix;
}

struct Sizes {
  std::int64_t tokens, in, out;
};

/// A Gemm with a device and an arena of its own.
struct Rank {
  explicit Rank(int num_threads, Dtype compute = Dtype::f32, device::Isa isa = device::detect_isa())
      : device({.num_threads = num_threads, .isa = isa}),
        arena(static_cast<std::size_t>(num_threads) * (std::size_t{12} << 20U)),
        gemm(device, arena, compute) {}
  Device device;
  device::Arena arena;
  Gemm gemm;
};

/// Compares some rows of C (all of them when few) with a sum in double; the bound grows with the sum of magnitudes.
template <class A, class B, class Before>
void expect_product(const Matrix& c, std::int64_t depth, const A& a, const B& b, const Before& before) {
  const std::int64_t step = 1 + c.rows() * c.columns() * depth / 20'000'000;
  for (std::int64_t index = 0; index < c.rows() * c.columns(); index += step) {
    const std::int64_t i = index / c.columns();
    const std::int64_t j = index % c.columns();
    double sum = before(i, j);
    double magnitude = std::abs(sum);
    for (std::int64_t k = 0; k < depth; ++k) {
      const double term = static_cast<double>(a(i, k)) * b(k, j);
      sum += term;
      magnitude += std::abs(term);
    }
    ASSERT_NEAR(c.at(i, j), sum, 1e-6 * magnitude + 1e-30) << "at " << i << ", " << j;
  }
}

class GemmSizes : public testing::TestWithParam<Sizes> {};

TEST_P(GemmSizes, ForwardAddsTheBiasOnce) {
  const auto [tokens, in, out] = GetParam();
  Rank rank(2);
  const Matrix x = random_matrix(tokens, in, 1);
  const Matrix weight = random_matrix(out, in, 2);
  const Matrix bias = random_matrix(1, out, 3);
  Matrix y = random_matrix(tokens, out, 4);
  rank.gemm.forward(x.tensor(), weight.tensor(), bias.tensor(), y.tensor());
  const auto a = [&x](std::int64_t i, std::int64_t k) { return x.at(i, k); };
  const auto b = [&weight](std::int64_t k, std::int64_t j) { return weight.at(j, k); };
  expect_product(y, in, a, b, [&bias](std::int64_t, std::int64_t j) { return bias.at(0, j); });
  rank.gemm.forward(x.tensor(), weight.tensor(), {}, y.tensor());
  expect_product(y, in, a, b, [](std::int64_t, std::int64_t) { return 0.0; });
}

TEST_P(GemmSizes, ForwardAddsToItsOutputWhenTold) {
  const auto [tokens, in, out] = GetParam();
  Rank rank(2);
  const Matrix x = random_matrix(tokens, in, 1);
  const Matrix weight = random_matrix(out, in, 2);
  const Matrix bias = random_matrix(1, out, 3);
  const Matrix before = random_matrix(tokens, out, 4);
  const Matrix y = random_matrix(tokens, out, 4);
  rank.gemm.forward(x.tensor(), weight.tensor(), bias.tensor(), y.tensor(), Write::add);
  expect_product(
      y, in, [&x](std::int64_t i, std::int64_t k) { return x.at(i, k); },
      [&weight](std::int64_t k, std::int64_t j) { return weight.at(j, k); },
      [&](std::int64_t i, std::int64_t j) { return static_cast<double>(before.at(i, j)) + bias.at(0, j); });
}

TEST_P(GemmSizes, BackwardInputSetsAndAdds) {
  const auto [tokens, in, out] = GetParam();
  Rank rank(2);
  const Matrix dy = random_matrix(tokens, out, 1);
  const Matrix weight = random_matrix(out, in, 2);
  const Matrix before = random_matrix(tokens, in, 3);
  const Matrix dx = random_matrix(tokens, in, 3);
  const auto a = [&dy](std::int64_t i, std::int64_t k) { return dy.at(i, k); };
  const auto b = [&weight](std::int64_t k, std::int64_t j) { return weight.at(k, j); };
  rank.gemm.backward_input(dy.tensor(), weight.tensor(), dx.tensor(), Write::add);
  expect_product(dx, out, a, b, [&before](std::int64_t i, std::int64_t j) { return before.at(i, j); });
  rank.gemm.backward_input(dy.tensor(), weight.tensor(), dx.tensor(), Write::set);
  expect_product(dx, out, a, b, [](std::int64_t, std::int64_t) { return 0.0; });
}

TEST_P(GemmSizes, BackwardWeightSetsAndAdds) {
  const auto [tokens, in, out] = GetParam();
  Rank rank(2);
  const Matrix dy = random_matrix(tokens, out, 1);
  const Matrix x = random_matrix(tokens, in, 2);
  const Matrix before = random_matrix(out, in, 3);
  const Matrix dweight = random_matrix(out, in, 3);
  const auto a = [&dy](std::int64_t i, std::int64_t k) { return dy.at(k, i); };
  const auto b = [&x](std::int64_t k, std::int64_t j) { return x.at(k, j); };
  rank.gemm.backward_weight(dy.tensor(), x.tensor(), dweight.tensor(), Write::add);
  expect_product(dweight, tokens, a, b, [&before](std::int64_t i, std::int64_t j) { return before.at(i, j); });
  rank.gemm.backward_weight(dy.tensor(), x.tensor(), dweight.tensor(), Write::set);
  expect_product(dweight, tokens, a, b, [](std::int64_t, std::int64_t) { return 0.0; });
}

TEST_P(GemmSizes, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto [tokens, in, out] = GetParam();
  const Matrix x = random_matrix(tokens, in, 1);
  const Matrix dy = random_matrix(tokens, out, 2);
  const Matrix weight = random_matrix(out, in, 3);
  const Matrix bias = random_matrix(1, out, 4);
  std::vector<std::vector<std::byte>> results[3];
  for (const int threads : {1, 2, 3}) {
    Rank rank(threads);
    const Matrix y(tokens, out);
    const Matrix dx(tokens, in);
    const Matrix dweight(out, in);
    for (const Write write : {Write::set, Write::add}) {
      rank.gemm.forward(x.tensor(), weight.tensor(), bias.tensor(), y.tensor(), write);
      rank.gemm.backward_input(dy.tensor(), weight.tensor(), dx.tensor(), write);
      rank.gemm.backward_weight(dy.tensor(), x.tensor(), dweight.tensor(), write);
    }
    results[0].push_back(y.bytes());
    results[1].push_back(dx.bytes());
    results[2].push_back(dweight.bytes());
  }
  for (const auto& of_product : results) {
    EXPECT_TRUE(of_product[0] == of_product[1]);
    EXPECT_TRUE(of_product[0] == of_product[2]);
  }
}

std::string name_of_sizes(const testing::TestParamInfo<Sizes>& tested) {
  return fmt::format("N{}In{}Out{}", tested.param.tokens, tested.param.in, tested.param.out);
}

INSTANTIATE_TEST_SUITE_P(Awkward, GemmSizes,
                         testing::Values(Sizes{1, 1, 1}, Sizes{1, 33, 97}, Sizes{7, 1, 33}, Sizes{33, 97, 1},
                                         Sizes{97, 257, 7}, Sizes{257, 7, 257}, Sizes{257, 1025, 97},
                                         Sizes{33, 2050, 257}, Sizes{1025, 97, 33}, Sizes{2050, 33, 97},
                                         Sizes{97, 97, 1025}, Sizes{33, 257, 2050}, Sizes{257, 770, 771},
                                         Sizes{33, 97, 50257}, Sizes{64, 128, 128}),
                         name_of_sizes);

TEST(Gemm, DoesNothingForNoTokensButSetsTheWeightGradientToZero) {
  Rank rank(2);
  const Matrix x(0, 33);
  const Matrix y(0, 97);
  const Matrix weight = random_matrix(97, 33, 1);
  const Matrix dweight = random_matrix(97, 33, 2);
  const auto before = dweight.bytes();
  rank.gemm.forward(x.tensor(), weight.tensor(), {}, y.tensor());
  rank.gemm.backward_input(y.tensor(), weight.tensor(), x.tensor(), Write::set);
  rank.gemm.backward_weight(y.tensor(), x.tensor(), dweight.tensor(), Write::add);
  EXPECT_EQ(dweight.bytes(), before);
  rank.gemm.backward_weight(y.tensor(), x.tensor(), dweight.tensor(), Write::set);
  EXPECT_EQ(dweight.bytes(), std::vector<std::byte>(before.size()));
  EXPECT_EQ(rank.gemm.flop(), 0);
}

TEST(Gemm, NeitherReadsNorWritesWhatFollowsTheLastColumnOfARow) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr Sizes sizes{33, 130, 97};
  constexpr std::int64_t padded = 112;
  Rank rank(2);
  const Matrix x = random_matrix(sizes.tokens, sizes.in, 1);
  const Matrix weight = random_matrix(sizes.out, sizes.in, 2);
  const Matrix rows = random_matrix(sizes.tokens, padded, 3);  // dy, then y
  for (std::int64_t i = 0; i < sizes.tokens; ++i) std::fill_n(&rows.at(i, sizes.out), padded - sizes.out, nan);
  const auto none = [](std::int64_t, std::int64_t) { return 0.0; };

  const Matrix dx(sizes.tokens, sizes.in);
  rank.gemm.backward_input(rows.tensor(), weight.tensor(), dx.tensor(), Write::set);
  expect_product(
      dx, sizes.out, [&rows](std::int64_t i, std::int64_t k) { return rows.at(i, k); },
      [&weight](std::int64_t k, std::int64_t j) { return weight.at(k, j); }, none);
  const Matrix dweight(sizes.out, sizes.in);
  rank.gemm.backward_weight(rows.tensor(), x.tensor(), dweight.tensor(), Write::set);
  expect_product(
      dweight, sizes.tokens, [&rows](std::int64_t i, std::int64_t k) { return rows.at(k, i); },
      [&x](std::int64_t k, std::int64_t j) { return x.at(k, j); }, none);

  const Matrix y(sizes.tokens, sizes.out);
  rank.gemm.forward(x.tensor(), weight.tensor(), {}, rows.tensor());
  for (std::int64_t i = 0; i < sizes.tokens; ++i) {
    std::copy_n(&rows.at(i, 0), sizes.out, &y.at(i, 0));
    for (std::int64_t j = sizes.out; j < padded; ++j) EXPECT_TRUE(std::isnan(rows.at(i, j))) << i << ", " << j;
  }
  expect_product(
      y, sizes.in, [&x](std::int64_t i, std::int64_t k) { return x.at(i, k); },
      [&weight](std::int64_t k, std::int64_t j) { return weight.at(j, k); }, none);
}

TEST(Gemm, CarriesANanToItsRowAndColumnOnly) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Rank rank(2);
  Matrix x = random_matrix(33, 1100, 1);
  Matrix weight = random_matrix(97, 1100, 2);
  x.at(5, 1090) = nan;
  weight.at(60, 3) = nan;
  Matrix y(33, 97);
  rank.gemm.forward(x.tensor(), weight.tensor(), {}, y.tensor());
  for (std::int64_t i = 0; i < 33; ++i) {
    for (std::int64_t j = 0; j < 97; ++j) EXPECT_EQ(std::isnan(y.at(i, j)), i == 5 || j == 60) << i << ", " << j;
  }
}

TEST(Gemm, ForgetsTheFormerOutputWhenItSets) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Rank rank(2);
  for (const auto& [tokens, in, out] : {Sizes{33, 97, 257}, Sizes{97, 2050, 33}, Sizes{64, 128, 128}}) {
    const Matrix x = random_matrix(tokens, in, 1);
    const Matrix dy = random_matrix(tokens, out, 2);
    const Matrix weight = random_matrix(out, in, 3);
    for (const auto& run : std::vector<std::function<Matrix()>>{
             [&] {
               Matrix y(tokens, out);
               std::fill_n(y.tensor().as<float>(), y.tensor().size(), nan);
               rank.gemm.forward(x.tensor(), weight.tensor(), {}, y.tensor());
               return y;
             },
             [&] {
               Matrix dx(tokens, in);
               std::fill_n(dx.tensor().as<float>(), dx.tensor().size(), nan);
               rank.gemm.backward_input(dy.tensor(), weight.tensor(), dx.tensor(), Write::set);
               return dx;
             },
             [&] {
               Matrix dweight(out, in);
               std::fill_n(dweight.tensor().as<float>(), dweight.tensor().size(), nan);
               rank.gemm.backward_weight(dy.tensor(), x.tensor(), dweight.tensor(), Write::set);
               return dweight;
             }}) {
      const Matrix result = run();
      for (std::int64_t i = 0; i < result.tensor().size(); ++i) {
        ASSERT_TRUE(std::isfinite(result.tensor().as<float>()[i]));
      }
    }
  }
}

TEST(Gemm, CountsTwoFlopForEachMultiplyAdd) {
  Rank rank(1);
  const Matrix x(3, 5);
  const Matrix y(3, 7);
  const Matrix weight(7, 5);
  rank.gemm.forward(x.tensor(), weight.tensor(), {}, y.tensor());
  EXPECT_EQ(rank.gemm.flop(), 2 * 3 * 5 * 7);
  rank.gemm.backward_input(y.tensor(), weight.tensor(), x.tensor(), Write::set);
  rank.gemm.backward_weight(y.tensor(), x.tensor(), weight.tensor(), Write::add);
  EXPECT_EQ(rank.gemm.flop(), 3 * 2 * 3 * 5 * 7);
}

TEST(OneThread, HoldsWhileItLivesAndGivesTheFormerSettingBack) {
  omp_set_num_threads(3);
  {
    const host::OneThread one_thread;
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 3);
}

TEST(Gemm, GivesTheSameBitsWhateverTheCallersOpenMPSetting) {
  const Matrix x = random_matrix(7, 2050, 1);
  const Matrix weight = random_matrix(33, 2050, 2);
  std::vector<std::vector<std::byte>> results;
  for (const int threads : {1, 4}) {
    omp_set_num_threads(threads);
    Rank rank(2);
    const Matrix y(7, 33);
    rank.gemm.forward(x.tensor(), weight.tensor(), {}, y.tensor());
    results.push_back(y.bytes());
  }
  EXPECT_TRUE(results[0] == results[1]);
}

TEST(Gemm, RefusesASecondInstructionSetInOneProcess) {
  if (device::detect_isa() < device::Isa::avx512) GTEST_SKIP() << "this processor has one set only";
  Rank rank(1);
  const Matrix x(3, 5);
  const Matrix weight(7, 5);
  const Matrix y(3, 7);
  rank.gemm.forward(x.tensor(), weight.tensor(), {}, y.tensor());
  const Device generic({.num_threads = 1, .isa = device::Isa::generic});
  EXPECT_THROW(Gemm(generic, rank.arena), SystemError);
}

TEST(Gemm, TakesTheSameScratchFromAMeasuringArena) {
  const Device device({.num_threads = 3, .isa = device::detect_isa()});
  std::size_t bytes_before = 0;
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    device::Arena measuring;
    const Gemm layout(device, measuring, compute);
    device::Arena arena(measuring.used_bytes());
    const Gemm gemm(device, arena, compute);
    EXPECT_GT(measuring.used_bytes(), bytes_before) << name_of(compute);
    EXPECT_EQ(arena.used_bytes(), measuring.used_bytes());
    bytes_before = measuring.used_bytes();
  }
}

TEST(Gemm, RefusesATypeThatItHasNoScratchFor) {
  Rank rank(1);
  const Matrix x(3, 5, Dtype::f16);
  const Matrix weight(7, 5, Dtype::f16);
  const Matrix y(3, 7, Dtype::f16);
  EXPECT_THROW(rank.gemm.forward(x.tensor(), weight.tensor(), {}, y.tensor()), SystemError);
}

TEST(GemmPieces, CoverEveryElementOnceAndDependOnTheShapeAlone) {
  for (const Product product : {Product::forward, Product::backward_input, Product::backward_weight}) {
    for (const std::int64_t extent : {1, 7, 192, 257, 768, 1025, 3072, 50257}) {
      const auto pieces = host::cut_product(product, extent, 768, extent, false);
      for (const auto& [cut, whole] :
           {std::pair{pieces.rows, extent}, {pieces.columns, std::int64_t{768}}, {pieces.depth, extent}}) {
        std::int64_t next = 0;
        for (std::int64_t piece = 0; piece < cut.num_pieces(); ++piece) {
          EXPECT_EQ(cut.begin(piece), next);
          EXPECT_GT(cut.size(piece), 0);
          EXPECT_EQ(cut.is_last(piece), piece + 1 == cut.num_pieces());
          next += cut.size(piece);
        }
        EXPECT_EQ(next, whole);
      }
      EXPECT_LE(pieces.depth.size(0), 1024);
    }
  }
}

TEST(GemmPieces, ShareOutEvenlyOverEightThreads) {
  for (const std::int64_t width : {768, 1024, 2048, 3072, 4096}) {
    EXPECT_EQ(host::cut_product(Product::forward, 1024, width, 768, false).num_blocks() % 8, 0);
    EXPECT_EQ(host::cut_product(Product::backward_input, 1024, width, 768, false).num_blocks() % 8, 0);
    EXPECT_EQ(host::cut_product(Product::backward_weight, width, 768, 1024, false).num_blocks() % 8, 0);
  }
}

TEST(GemmPieces, KeepTheDepthWholeWhereASumWouldBeRounded) {
  EXPECT_EQ(host::cut_product(Product::forward, 33, 97, 50257, true).depth.num_pieces(), 1);
}

// Small sums are never split, so adding in the output is one addition at the end.
TEST(SumPostOp, IsExactForAShallowProductAndNotForOneInSubPieces) {
  const Device device({.num_threads = 2, .isa = device::detect_isa()});
  EXPECT_TRUE(sum_post_op_is_exact(device, Product::forward, 33, 48, 97, Dtype::f32));
  EXPECT_TRUE(sum_post_op_is_exact(device, Product::backward_input, 33, 97, 48, Dtype::f32));
  EXPECT_TRUE(sum_post_op_is_exact(device, Product::backward_weight, 48, 97, 33, Dtype::f32));
  EXPECT_FALSE(sum_post_op_is_exact(device, Product::forward, 33, 2050, 97, Dtype::f32));
  EXPECT_FALSE(sum_post_op_is_exact(device, Product::backward_input, 33, 97, 2050, Dtype::f32));
  EXPECT_FALSE(sum_post_op_is_exact(device, Product::backward_weight, 2050, 97, 33, Dtype::f32));
}

}  // namespace
}  // namespace trireme::kernels
