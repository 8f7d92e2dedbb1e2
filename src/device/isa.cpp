#include "device/isa.hpp"

#include "trireme/device/device.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace trireme::device {

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::generic:
      return "generic";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

#if defined(__x86_64__)

Isa detect_isa() {
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) return Isa::avx512;
  return v3 ? Isa::avx2 : Isa::generic;
}

void flush_denormals() {
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zero = 0x0040;
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
}

void relax() {
  _mm_pause();
}

#else

Isa detect_isa() {
  return Isa::generic;
}
void flush_denormals() {}
void relax() {}

#endif

}  // namespace trireme::device
