# trireme_isa_sources(TARGET a.isa.cpp b.isa.cpp ...)
#
# Compiles each file once for each instruction set, in an object library of its own whose objects become TARGET's, with
# TRIREME_ISA naming the namespace: generic (plain C++ at the executable's baseline), and on x86 also avx2 and avx512.
# src/kernels/host/simd.hpp says what such a file may hold. trireme_amx_sources(TARGET ...) compiles files for amx besides.
# GCC 12's own AVX-512 header trips these warnings (GCC PR 105593).
set(TRIREME_ISA_HEADER_NOISE "$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>")

function(trireme_isa_sources target)
  trireme_isa_objects(${target} generic "" ${ARGN})
  if(DEFINED TRIREME_ISA_V4_FLAGS)
    trireme_isa_objects(${target} avx2 "${TRIREME_ISA_V3_FLAGS}" ${ARGN})
    trireme_isa_objects(${target} avx512 "${TRIREME_ISA_V4_FLAGS};${TRIREME_ISA_HEADER_NOISE}" ${ARGN})
  endif()
endfunction()

function(trireme_amx_sources target)
  if(DEFINED TRIREME_ISA_AMX_FLAGS)
    trireme_isa_objects(${target} amx "${TRIREME_ISA_AMX_FLAGS};${TRIREME_ISA_HEADER_NOISE}" ${ARGN})
    target_compile_definitions(${target}_amx PRIVATE TRIREME_ISA_IS_AVX512)
  endif()
endfunction()

function(trireme_isa_objects target isa flags)
  string(TOUPPER ${isa} upper)
  add_library(${target}_${isa} OBJECT ${ARGN})
  target_include_directories(${target}_${isa} PRIVATE "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}/src")
  target_compile_definitions(${target}_${isa} PRIVATE TRIREME_ISA=${isa} TRIREME_ISA_IS_${upper})
  # The common options are copied rather than linked: linked ones would come last, and the last -march wins.
  target_compile_options(${target}_${isa} PRIVATE $<TARGET_PROPERTY:trireme_options,INTERFACE_COMPILE_OPTIONS> ${flags})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
endfunction()
