// Declares a function once for each instruction set that it is compiled for; isa_call.hpp chooses among them. Few are
// compiled for the tile registers of amx, too.
#pragma once

#if defined(__x86_64__)
#define TRIREME_ISA_DECLARE(...) \
  namespace generic {            \
  __VA_ARGS__;                   \
  }                              \
  namespace avx2 {               \
  __VA_ARGS__;                   \
  }                              \
  namespace avx512 {             \
  __VA_ARGS__;                   \
  }
#define TRIREME_AMX_DECLARE(...) \
  namespace amx {                \
  __VA_ARGS__;                   \
  }
#else
#define TRIREME_ISA_DECLARE(...) \
  namespace generic {            \
  __VA_ARGS__;                   \
  }
#define TRIREME_AMX_DECLARE(...)
#endif
