// What a machine gives, as far as a plan needs it.
#pragma once

#include <optional>
#include <string>

#include "trireme/base/dtype.hpp"

namespace trireme::plan {

/// A message of b bytes takes latency_s + b / bytes_per_s.
struct Link {
  double latency_s = 0;
  double bytes_per_s = 1;
};

/// Rates of one rank while all ranks of its host work. The defaults are of a rank on one core of a current server, and
/// of 100 Gbit/s between hosts.
struct MachineRates {
  double gemm_flop_per_s = 180e9;              ///< of products in fp32
  std::optional<double> gemm_bf16_flop_per_s;  ///< of products in bf16; none: as in fp32
  std::optional<double> gemm_fp16_flop_per_s;  ///< of products in fp16; none: as in fp32
  double triad_bytes_per_s = 14e9;
  Link inside{.latency_s = 2e-6, .bytes_per_s = 5e9};    ///< between ranks of a host
  Link outside{.latency_s = 5e-6, .bytes_per_s = 10e9};  ///< between hosts
  int ranks_per_host = 0;                                ///< 0: all ranks on one host

  /// Of products of this type.
  [[nodiscard]] double gemm_rate(Dtype compute) const;
};

/// Reads a JSON object with gemm_flop_per_s, gemm_bf16_flop_per_s, gemm_fp16_flop_per_s, triad_bytes_per_s,
/// ranks_per_host, and inside and outside with latency_s and bytes_per_s each. What it has not keeps its default, other
/// members are left alone. Throws InputError, naming `name` and the member, for what is no JSON object, no number, or
/// out of range.
[[nodiscard]] MachineRates read_rates(const std::string& json, const std::string& name);

}  // namespace trireme::plan
