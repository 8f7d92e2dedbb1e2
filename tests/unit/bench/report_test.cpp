#include "bench/report.hpp"

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/operands.hpp"
#include "bench/placed.hpp"

namespace trireme::bench {
namespace {

using testing::HasSubstr;

constexpr Machine machine{.gemm_flop_per_s = 200e9, .gemm_spread = 0.01, .triad_bytes_per_s = 20e9};

Row row(double flop, double bytes, double median_s) {
  return {.kernel = "kernel", .shape = "3 x 5", .flop = flop, .bytes = bytes, .timing = {.median_s = median_s}};
}

TEST(Floor, IsTheLongerOfArithmeticAndMemory) {
  EXPECT_DOUBLE_EQ(floor_s(row(200e9, 2e9, 1), machine), 1.0);
  EXPECT_DOUBLE_EQ(floor_s(row(2e9, 20e9, 1), machine), 1.0);
}

TEST(Report, NamesTheRateAfterWhatMakesTheFloor) {
  const device::Device device({.num_threads = 2, .isa = device::Isa::generic});
  const std::string text = table_text(device, machine, {row(100e9, 0, 1), row(0, 5e9, 1)});
  EXPECT_THAT(text, HasSubstr("100.0 GFLOP/s    50.0 %"));
  EXPECT_THAT(text, HasSubstr("5.0 GB/s       25.0 %"));
  EXPECT_THAT(text, HasSubstr("2 threads"));
  EXPECT_THAT(text, HasSubstr("GEMM ceiling    200.0 GFLOP/s (spread 1.0 %)"));
}

TEST(Report, GivesTheSameAsJson) {
  const device::Device device({.num_threads = 2, .isa = device::Isa::generic});
  const auto json = nlohmann::json::parse(json_text(device, machine, {row(100e9, 0, 1)}));
  EXPECT_EQ(json.at("threads"), 2);
  EXPECT_EQ(json.at("gemm_flop_per_s"), 200e9);
  ASSERT_EQ(json.at("kernels").size(), 1U);
  EXPECT_EQ(json.at("kernels")[0].at("shape"), "3 x 5");
  EXPECT_EQ(json.at("kernels")[0].at("share_of_floor"), 0.5);
}

TEST(Report, SetsTheTypesOfAProductSideBySide) {
  const device::Device device({.num_threads = 2, .isa = device::Isa::generic});
  std::vector<Row> rows = {row(100e9, 0, 1), row(100e9, 0, 0.5), row(100e9, 0, 2), row(50e9, 0, 1)};
  rows[1].dtype = Dtype::bf16;
  rows[2].dtype = Dtype::f16;
  rows[3].shape = "5 x 7";
  const std::string text = gemm_table_text(device, machine, rows);
  EXPECT_THAT(text, HasSubstr("3 x 5                fp32   100.0    0.0 %   50.0 %"
                              "  bf16   200.0    0.0 %  2.00 x  fp16    50.0    0.0 %  0.50 x\n"));
  EXPECT_THAT(text, HasSubstr("5 x 7                fp32    50.0    0.0 %   25.0 %\n"));
  const auto json = nlohmann::json::parse(json_text(device, machine, rows));
  EXPECT_EQ(json.at("kernels")[2].at("type"), "fp16");
  EXPECT_FALSE(json.at("kernels")[2].contains("share_of_floor")) << "the ceiling is that of fp32";
}

TEST(SquareProduct, IsOfOneTypeAndCountsTheSameFlopInAll) {
  const device::Device device({.num_threads = 1, .isa = device::Isa::generic});
  device::Arena measuring;
  const double flop = SquareProduct(device, Dtype::f32, measuring).row().flop;
  EXPECT_GT(flop, 1e10);
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    SquareProduct product(device, dtype, measuring);
    const Row row = product.row();
    EXPECT_EQ(row.dtype, dtype);
    EXPECT_EQ(product.b.dtype, dtype);
    EXPECT_EQ(row.flop, flop);
  }
}

TEST(Machine, ComesFromTheFirstTwoRowsWhichLeave) {
  std::vector<Row> rows = {row(6e9, 0, 2), row(0, 8e9, 4), row(1, 1, 9)};
  const Machine taken = take_machine(rows);
  EXPECT_DOUBLE_EQ(taken.gemm_flop_per_s, 3e9);
  EXPECT_DOUBLE_EQ(taken.triad_bytes_per_s, 2e9);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows[0].timing.median_s, 9);
}

struct Pair {
  explicit Pair(device::Arena& arena) : numbers(random_tensor(arena, {33, 97})), ids(random_ids(arena, 97, 7)) {}
  tensor::Tensor numbers, ids;
};

TEST(Operands, AreWrittenAndInTheirRange) {
  const Placed<Pair> pair;
  const auto* numbers = pair->numbers.as<float>();
  int zeros = 0;
  for (std::int64_t i = 0; i < 33 * 97; ++i) {
    EXPECT_LT(std::abs(numbers[i]), 1.0001F);
    zeros += numbers[i] == 0 ? 1 : 0;
  }
  EXPECT_LT(zeros, 2);
  const auto* ids = pair->ids.as<std::int32_t>();
  EXPECT_THAT(std::vector<std::int32_t>(ids, ids + 97), testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(7))));
}

/// The value of a number of bits in half precision.
double value_of(std::uint16_t bits, int fraction_bits, int exponent_bias) {
  const int exponent = (bits & 0x7FFF) >> fraction_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double size = std::ldexp(1.0 + std::ldexp(fraction, -fraction_bits), exponent - exponent_bias);
  return (bits & 0x8000) != 0 ? -size : size;
}

struct Halves {
  explicit Halves(device::Arena& arena)
      : bf16(random_tensor(arena, {1009}, Dtype::bf16)), fp16(random_tensor(arena, {1009}, Dtype::f16)) {}
  tensor::Tensor bf16, fp16;
};

TEST(Operands, InHalfPrecisionHaveEitherSignAndSizesFromAHalfToOne) {
  const Placed<Halves> halves;
  double sum_bf16 = 0;
  double sum_fp16 = 0;
  for (std::int64_t i = 0; i < 1009; ++i) {
    const double bf16 = value_of(halves->bf16.as<Bf16>()[i].bits, 7, 127);
    const double fp16 = value_of(halves->fp16.as<Fp16>()[i].bits, 10, 15);
    for (const double value : {bf16, fp16}) EXPECT_TRUE(std::abs(value) >= 0.5 && std::abs(value) < 1) << value;
    sum_bf16 += bf16;
    sum_fp16 += fp16;
  }
  EXPECT_LT(std::abs(sum_bf16), 100) << "both signs";
  EXPECT_LT(std::abs(sum_fp16), 100) << "both signs";
}

TEST(Operands, AreBytesOfAllValues) {
  const std::vector<std::byte> bytes = random_bytes(4099);
  EXPECT_EQ(bytes.size(), 4099U);
  EXPECT_EQ(std::set<std::byte>(bytes.begin(), bytes.end()).size(), 256U);
}

}  // namespace
}  // namespace trireme::bench
