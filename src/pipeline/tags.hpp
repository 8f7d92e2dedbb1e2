// Tags of the messages along the pipeline axis. Messages of one tag arrive in the order of sending, and each chunk
// takes its micro-batches in order, so their number need not be in the tag.
#pragma once

namespace trireme::pipeline {

/// The output of the chunk before, for `chunk` of the receiver.
[[nodiscard]] constexpr int input_tag(int chunk) {
  return 4 + 2 * chunk;
}
/// The gradient of the output, for `chunk` of the receiver.
[[nodiscard]] constexpr int gradient_tag(int chunk) {
  return 5 + 2 * chunk;
}
/// Of a tied table.
inline constexpr int tied_gradient_tag = 0;
inline constexpr int tied_weight_tag = 1;

}  // namespace trireme::pipeline
