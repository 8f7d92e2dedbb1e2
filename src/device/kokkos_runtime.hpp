// The one place where Kokkos is brought up and down.
#pragma once

#include <string>

namespace trireme::device {

/// Initialises Kokkos unless somebody has; it is finalised when the process exits.
void start_kokkos();

/// `Serial`, `OpenMP`, `Cuda`.
[[nodiscard]] std::string kokkos_space_name();

}  // namespace trireme::device
