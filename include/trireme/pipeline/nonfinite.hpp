// Where the numbers of a step went bad.
#pragma once

#include <cstdint>
#include <optional>

#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::pipeline {

/// A pass of a micro-batch through a chunk that left numbers which are not finite.
struct NonfinitePass {
  bool backward = false;
  int chunk = 0;        ///< of this stage
  int micro_batch = 0;  ///< of this rank
  /// Grows with the order in which passes hand numbers on: forward passes from the first chunk of the model to the
  /// last, then backward passes from the last to the first. The same pass has the same number on every data rank.
  std::int64_t place = 0;
};

/// Looks at what each pass hands on, a few bytes a token, and remembers the one that went bad first.
class NonfiniteWatch {
 public:
  /// stage of `stages`, each with `chunks` chunks.
  NonfiniteWatch(const device::Device& device, int stages, int stage, int chunks)
      : device_(device), stages_(stages), stage_(stage), chunks_(chunks) {}

  void begin_step() { first_.reset(); }
  /// values: the output of the chunk, or with `backward` the gradient of its input.
  void look(bool backward, int chunk, int micro_batch, const tensor::Tensor& values);
  /// Of this rank, since begin_step().
  [[nodiscard]] const std::optional<NonfinitePass>& first() const noexcept { return first_; }

 private:
  const device::Device& device_;
  int stages_, stage_, chunks_;
  std::optional<NonfinitePass> first_;
};

}  // namespace trireme::pipeline
