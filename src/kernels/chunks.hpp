// Element-wise host kernels: the threads share out runs of a constant size.
#pragma once

#include <algorithm>
#include <cstdint>

#include "trireme/device/device.hpp"

namespace trireme::kernels {

/// Elements of a run: small enough for the nearest caches, large enough to hide the call.
inline constexpr std::int64_t chunk_elements = 8192;

/// Calls body(begin, count) for the runs of [0, size) on the device's threads.
template <class Body>
void for_chunks(const device::Device& device, std::int64_t size, const Body& body) {
  device.parallel((size + chunk_elements - 1) / chunk_elements, [&](std::int64_t chunk, int) {
    const std::int64_t begin = chunk * chunk_elements;
    body(begin, std::min(chunk_elements, size - begin));
  });
}

}  // namespace trireme::kernels
