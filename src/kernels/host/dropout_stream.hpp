// From a Dropout to the plain numbers that the vectorised kernels take.
#pragma once

#include "trireme/base/error.hpp"
#include "trireme/kernels/random.hpp"

#include "kernels/host/philox_simd.hpp"
#include "kernels/philox.hpp"

namespace trireme::kernels::host {

/// The stream of sequence `index` of the micro-batch.
[[nodiscard]] inline DropoutStream dropout_stream(const Dropout& dropout, std::int64_t index) {
  TRIREME_EXPECT(dropout.site >> dropout_site_bits == 0);
  return {.key = {lower_half(dropout.seed), upper_half(dropout.seed)},
          .counter = {static_cast<std::uint32_t>(dropout.first_sequence + index),
                      static_cast<std::uint32_t>(dropout.step), dropout.site},
          .threshold = dropout_threshold(dropout.probability),
          .scale = dropout_scale(dropout.probability)};
}

}  // namespace trireme::kernels::host
