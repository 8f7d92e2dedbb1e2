// Comparisons of arrays, and the devices on which a kernel must give equal bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trireme/device/device.hpp"

namespace trireme::test {

/// |actual - expected| <= tolerance * (the largest |expected| + floor), element by element; a NaN is never near.
inline testing::AssertionResult all_near(const std::vector<float>& actual, const std::vector<double>& expected,
                                         double tolerance, double floor = 1e-3) {
  if (actual.size() != expected.size()) return testing::AssertionFailure() << "sizes differ";
  double largest = floor;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (!(difference <= tolerance * largest)) {
      return testing::AssertionFailure() << "element " << i << " is " << actual[i] << ", not " << expected[i]
                                         << " (off by " << difference / largest << " of the largest)";
    }
  }
  return testing::AssertionSuccess();
}

/// The same bits, so that even zeros and NaNs of another sign differ.
template <class T>
testing::AssertionResult same_bits(const std::vector<T>& actual, const std::vector<T>& expected) {
  if (actual.size() != expected.size()) return testing::AssertionFailure() << "sizes differ";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(T)) != 0) {
      return testing::AssertionFailure() << "element " << i << " differs";
    }
  }
  return testing::AssertionSuccess();
}

/// Calls body(device) for 1, 2 and 3 threads on every instruction set of this processor; the first is 1, generic.
template <class Body>
void for_each_device(const Body& body) {
  for (const device::Isa isa : {device::Isa::generic, device::Isa::avx2, device::Isa::avx512}) {
    if (isa > device::detect_isa()) continue;
    for (const int threads : {1, 2, 3}) {
      const device::Device device({.num_threads = threads, .isa = isa});
      SCOPED_TRACE(device.description());
      body(device);
    }
  }
}

}  // namespace trireme::test
