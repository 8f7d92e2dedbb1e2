// The products that attention's tiles are made of on this instruction set.
#pragma once

#if defined(TRIREME_ISA_IS_AMX)
#include "kernels/host/attention_amx.hpp"
#else
#include "kernels/host/attention_float.hpp"
#endif

namespace trireme::kernels::host::TRIREME_ISA {

#if defined(TRIREME_ISA_IS_AMX)
using ForwardProducts = TileForward;
using BackwardProducts = TileBackward;
#else
using ForwardProducts = FloatForward;
using BackwardProducts = FloatBackward;
#endif

}  // namespace trireme::kernels::host::TRIREME_ISA
