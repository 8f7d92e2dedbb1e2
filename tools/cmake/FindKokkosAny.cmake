# Finds Kokkos 3.4 or newer and makes the target trireme_kokkos.
#
# A Kokkos of its own (Kokkos_ROOT) brings the target Kokkos::kokkos. Debian packages the one inside Trilinos, whose
# configuration file names a wrong include folder; so the folders of the system are not asked for a configuration, and
# the parts are found one by one.
find_package(Kokkos 3.4 CONFIG QUIET NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_SYSTEM_PATH)
add_library(trireme_kokkos INTERFACE)
if(TARGET Kokkos::kokkos)
  target_link_libraries(trireme_kokkos INTERFACE Kokkos::kokkos)
  set(KokkosAny_VERSION "${Kokkos_VERSION}")
else()
  find_path(KOKKOS_INCLUDE_DIR Kokkos_Core.hpp PATH_SUFFIXES trilinos kokkos)
  find_library(KOKKOS_CORE_LIBRARY NAMES trilinos_kokkoscore kokkoscore)
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(KokkosAny DEFAULT_MSG KOKKOS_CORE_LIBRARY KOKKOS_INCLUDE_DIR)
  target_include_directories(trireme_kokkos SYSTEM INTERFACE "${KOKKOS_INCLUDE_DIR}")
  target_link_libraries(trireme_kokkos INTERFACE "${KOKKOS_CORE_LIBRARY}" ${CMAKE_DL_LIBS})
endif()
set(KokkosAny_FOUND TRUE)
