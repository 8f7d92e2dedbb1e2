// Chooses the build of a function for the device's instruction set: TRIREME_ISA_CALL(device, scale_block)(x, n).
// The form of avx512 serves the levels above, too. TRIREME_AMX_CALL takes that of amx where the device has it.
// To be used inside namespace trireme::kernels or below; the function is declared by TRIREME_ISA_DECLARE.
#pragma once

#include "trireme/device/device.hpp"

#include "kernels/host/isa.hpp"

#if defined(__x86_64__)
#define TRIREME_ISA_CALL(device_of_call, ...)                                           \
  ((device_of_call).isa() >= ::trireme::device::Isa::avx512 ? host::avx512::__VA_ARGS__ \
   : (device_of_call).isa() == ::trireme::device::Isa::avx2 ? host::avx2::__VA_ARGS__   \
                                                            : host::generic::__VA_ARGS__)
#define TRIREME_AMX_CALL(device_of_call, ...)                                     \
  ((device_of_call).isa() == ::trireme::device::Isa::amx ? host::amx::__VA_ARGS__ \
                                                         : TRIREME_ISA_CALL(device_of_call, __VA_ARGS__))
#else
#define TRIREME_ISA_CALL(device_of_call, ...) (host::generic::__VA_ARGS__)
#define TRIREME_AMX_CALL(device_of_call, ...) TRIREME_ISA_CALL(device_of_call, __VA_ARGS__)
#endif
