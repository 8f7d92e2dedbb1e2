// Declares a function once for each instruction set that it is compiled for; isa_call.hpp chooses among them.
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
#else
#define TRIREME_ISA_DECLARE(...) \
  namespace generic {            \
  __VA_ARGS__;                   \
  }
#endif
