#include "kernels/host/onednn.hpp"

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/kernels/gemm.hpp"

namespace trireme::kernels {

std::string gemm_library_version() {
  const dnnl_version_t& version = *dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", version.major, version.minor, version.patch);
}

namespace host {

namespace {

dnnl::cpu_isa cap_of(device::Isa isa) {
  switch (isa) {
    case device::Isa::amx:
      return dnnl::cpu_isa::avx512_core_amx;
    case device::Isa::avx512_bf16:
      return dnnl::cpu_isa::avx512_core_bf16;
    case device::Isa::avx512:
      return dnnl::cpu_isa::avx512_core;
    default:
      return dnnl::cpu_isa::avx2;
  }
}

}  // namespace

dnnl::memory::data_type onednn_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return dnnl::memory::data_type::f32;
    case Dtype::bf16:
      return dnnl::memory::data_type::bf16;
    case Dtype::f16:
      return dnnl::memory::data_type::f16;
    default:
      throw InputError(
          fmt::format("cannot multiply matrices of `{}` (oneDNN knows fp32, bf16 and fp16)", name_of(dtype)));
  }
}

void limit_onednn(device::Isa isa) {
  if (device::detect_isa() < device::Isa::avx2) return;
  // Refused when the library works already: what counts is whether it works with this very set.
  static_cast<void>(dnnl::set_max_cpu_isa(cap_of(isa)));
  if (dnnl::get_effective_cpu_isa() == cap_of(isa)) return;
  throw SystemError(
      fmt::format("cannot give oneDNN the instruction set `{}` (it already works with another one in "
                  "this process) use one set per process",
                  device::name_of(isa)));
}

void throw_onednn_error(const dnnl::error& error, const std::string& doing) {
  throw SystemError(
      fmt::format("oneDNN failed (status {}: {}) while {}", static_cast<int>(error.status), error.what(), doing));
}

}  // namespace host
}  // namespace trireme::kernels
