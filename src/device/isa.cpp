#include "device/isa.hpp"

#include "trireme/device/device.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
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
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::amx:
      return "amx";
  }
  return "unknown";
}

#if defined(__x86_64__)

namespace {

/// Tiles of bf16 (and of int8, without which oneDNN does not take them).
bool has_tiles() {
  constexpr unsigned all = (1U << 22U) | (1U << 24U) | (1U << 25U);  // AMX-BF16, AMX-TILE, AMX-INT8
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & all) == all;
}

/// Whether the system saves the tiles of a thread when another one runs.
bool system_saves_tiles() {
  constexpr unsigned tile_state = (1U << 17U) | (1U << 18U);
  unsigned low = 0;
  unsigned high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & tile_state) == tile_state;
}

/// Linux lets a process use tiles after it has asked; the permission holds for all its threads.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr int request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int tile_data = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

Isa detect() {
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (!v4) return v3 ? Isa::avx2 : Isa::generic;
  if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512bf16")) return Isa::avx512;
  return has_tiles() && system_saves_tiles() && may_use_tiles() ? Isa::amx : Isa::avx512_bf16;
}

}  // namespace

Isa detect_isa() {
  static const Isa detected = detect();
  return detected;
}

Isa preferred_isa() {
  // Products in bf16 reach half of the fp32 rate there (src/kernels/README.md), twice on AMD's Zen 5.
  const Isa highest = detect_isa();
  return highest == Isa::avx512_bf16 && __builtin_cpu_is("intel") ? Isa::avx512 : highest;
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

Isa preferred_isa() {
  return detect_isa();
}
void flush_denormals() {}
void relax() {}

#endif

}  // namespace trireme::device
