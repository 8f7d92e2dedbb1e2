#include "trireme/plan/rates.hpp"

#include <gmock/gmock.h>

#include "trireme/base/error.hpp"

namespace trireme::plan {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& json) {
  try {
    static_cast<void>(read_rates(json, "r.json"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ReadRates, TakesWhatABenchmarkHasAndLeavesTheRest) {
  const MachineRates rates = read_rates(
      R"({"device": "x", "gemm_flop_per_s": 2e11, "kernels": [], "outside": {"bytes_per_s": 1.25e8, "latency_s": 0},
          "ranks_per_host": 4})",
      "r.json");
  EXPECT_EQ(rates.gemm_flop_per_s, 2e11);
  EXPECT_EQ(rates.triad_bytes_per_s, MachineRates{}.triad_bytes_per_s);
  EXPECT_EQ(rates.outside.bytes_per_s, 1.25e8);
  EXPECT_EQ(rates.outside.latency_s, 0);
  EXPECT_EQ(rates.inside.latency_s, MachineRates{}.inside.latency_s);
  EXPECT_EQ(rates.ranks_per_host, 4);
}

TEST(ReadRates, TakesARateOfProductsForEachTypeAndThatOfFp32ForThoseItHasNot) {
  const MachineRates both =
      read_rates(R"({"gemm_flop_per_s": 1e11, "gemm_bf16_flop_per_s": 3e11, "gemm_fp16_flop_per_s": 2e11})", "r.json");
  EXPECT_EQ(both.gemm_rate(Dtype::f32), 1e11);
  EXPECT_EQ(both.gemm_rate(Dtype::bf16), 3e11);
  EXPECT_EQ(both.gemm_rate(Dtype::f16), 2e11);
  const MachineRates neither = read_rates(R"({"gemm_flop_per_s": 1e11})", "r.json");
  EXPECT_EQ(neither.gemm_rate(Dtype::bf16), 1e11);
  EXPECT_EQ(neither.gemm_rate(Dtype::f16), 1e11);
}

TEST(ReadRates, RefusesWhatIsNoRateByName) {
  EXPECT_EQ(refusal("[1]"), "`r.json`: no rates (it is no JSON object) write what `trireme bench --json` prints");
  EXPECT_THAT(refusal("{\"a\": "), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal(R"({"gemm_flop_per_s": "fast"})"), HasSubstr("`r.json`: `gemm_flop_per_s` is no number"));
  EXPECT_THAT(refusal(R"({"gemm_fp16_flop_per_s": 0})"), HasSubstr("`gemm_fp16_flop_per_s` is out of range"));
  EXPECT_THAT(refusal(R"({"gemm_bf16_flop_per_s": null})"), HasSubstr("`gemm_bf16_flop_per_s` is no number"));
  EXPECT_THAT(refusal(R"({"triad_bytes_per_s": 0})"), HasSubstr("`triad_bytes_per_s` is out of range"));
  EXPECT_THAT(refusal(R"({"gemm_flop_per_s": 1e999})"), HasSubstr("no"));
  EXPECT_THAT(refusal(R"({"inside": 3})"), HasSubstr("`inside` is no object"));
  EXPECT_THAT(refusal(R"({"inside": {"latency_s": -1}})"), HasSubstr("`r.json.inside`: `latency_s` is out of range"));
  EXPECT_THAT(refusal(R"({"ranks_per_host": 1.5})"), HasSubstr("out of range"));
}

}  // namespace
}  // namespace trireme::plan
