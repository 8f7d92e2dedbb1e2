#include "device/kokkos_runtime.hpp"

#include <cstdlib>

#include <Kokkos_Core.hpp>
#include <fmt/format.h>

#include "trireme/device/device.hpp"

namespace trireme::device {

namespace {

void stop_kokkos() {
  if (Kokkos::is_initialized()) Kokkos::finalize();
}

}  // namespace

void start_kokkos() {
  if (Kokkos::is_initialized()) return;
  Kokkos::initialize();
  std::atexit(stop_kokkos);
}

std::string kokkos_version() {
  return fmt::format("Kokkos {}.{}.{} ({})", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100,
                     kokkos_space_name());
}

std::string kokkos_space_name() {
  return Kokkos::DefaultExecutionSpace::name();
}

}  // namespace trireme::device
