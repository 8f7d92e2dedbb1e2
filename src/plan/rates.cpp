#include "trireme/plan/rates.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"

namespace trireme::plan {
namespace {

/// A JSON object that stands under a name.
struct Object {
  const nlohmann::json& json;
  std::string name;

  [[noreturn]] void refuse(const char* member, const char* why) const {
    throw InputError(
        fmt::format("`{}`: `{}` is {} (it is read as a rate of the machine) write what `trireme bench "
                    "--json` prints",
                    name, member, why));
  }

  /// Sets `value` if the object has the member: a finite number, at least `least`, and above it if that is 0 and the
  /// number divides.
  void take(const char* member, double& value, bool may_be_zero = false) const {
    const auto found = json.find(member);
    if (found == json.end()) return;
    if (!found->is_number()) refuse(member, "no number");
    value = found->get<double>();
    if (!std::isfinite(value) || value < 0 || (value == 0 && !may_be_zero)) refuse(member, "out of range");
  }

  void take(const char* member, std::optional<double>& value) const {
    if (json.contains(member)) take(member, value.emplace());
  }

  void take(const char* member, Link& link) const {
    const auto found = json.find(member);
    if (found == json.end()) return;
    if (!found->is_object()) refuse(member, "no object");
    const Object of_link{*found, name + "." + member};
    of_link.take("latency_s", link.latency_s, true);
    of_link.take("bytes_per_s", link.bytes_per_s);
  }

  void take(const char* member, int& value) const {
    double number = value;
    take(member, number, true);
    if (number != std::floor(number) || number > 1 << 24) refuse(member, "out of range");
    value = static_cast<int>(number);
  }
};

}  // namespace

double MachineRates::gemm_rate(Dtype compute) const {
  if (compute == Dtype::bf16) return gemm_bf16_flop_per_s.value_or(gemm_flop_per_s);
  if (compute == Dtype::f16) return gemm_fp16_flop_per_s.value_or(gemm_flop_per_s);
  return gemm_flop_per_s;
}

MachineRates read_rates(const std::string& json, const std::string& name) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) {
    throw InputError(
        fmt::format("`{}`: no rates (it is no JSON object) write what `trireme bench --json` prints", name));
  }
  MachineRates rates;
  const Object object{parsed, name};
  object.take("gemm_flop_per_s", rates.gemm_flop_per_s);
  object.take("gemm_bf16_flop_per_s", rates.gemm_bf16_flop_per_s);
  object.take("gemm_fp16_flop_per_s", rates.gemm_fp16_flop_per_s);
  object.take("triad_bytes_per_s", rates.triad_bytes_per_s);
  object.take("inside", rates.inside);
  object.take("outside", rates.outside);
  object.take("ranks_per_host", rates.ranks_per_host);
  return rates;
}

}  // namespace trireme::plan
