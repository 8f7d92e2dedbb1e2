# Language level, warnings, and the floating-point rules that the numerics rely on.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O3 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g -DTRIREME_CONTRACTS=1 -D_GLIBCXX_ASSERTIONS")

add_library(trireme_options INTERFACE)
# Members that a designated initializer leaves out have their defaults: that is what it is for.
# Contraction off: a * b + c rounds twice unless std::fma is written, on every compiler and path.
target_compile_options(trireme_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                                                 -Wno-missing-field-initializers -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of memory that "text" + std::string never touches (GCC bug 105651).
  target_compile_options(trireme_options INTERFACE -Wno-restrict)
endif()
if(TRIREME_WARNINGS_AS_ERRORS)
  target_compile_options(trireme_options INTERFACE -Werror)
endif()

# The executable runs on every x86-64-v3 processor; hot kernels are built again for v4 and chosen at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TRIREME_ISA_V3_FLAGS -march=x86-64-v3)
  set(TRIREME_ISA_V4_FLAGS -march=x86-64-v4 -mprefer-vector-width=512)
  set(TRIREME_ISA_AMX_FLAGS ${TRIREME_ISA_V4_FLAGS} -mavx512bf16 -mamx-tile -mamx-bf16)
  target_compile_options(trireme_options INTERFACE ${TRIREME_ISA_V3_FLAGS})
endif()
