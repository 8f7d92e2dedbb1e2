#include "bench/report.hpp"

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

}  // namespace
}  // namespace trireme::bench
