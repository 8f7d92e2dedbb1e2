// Counts the MPI objects of this process and can take buffering away (TRIREME_TEST_SYNCHRONOUS): see pmpi_shim.cpp.
#pragma once

namespace trireme::testing {

[[nodiscard]] int live_communicators();
[[nodiscard]] int live_requests();
/// Sends turned into synchronous ones so far.
[[nodiscard]] int synchronous_sends();
/// The most bytes that one call was given so far.
[[nodiscard]] long largest_call_bytes();

}  // namespace trireme::testing
