// What the passes of a step hand from layer to layer, as numbers that two runs can be compared by.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/data/loader.hpp"
#include "trireme/device/device.hpp"
#include "trireme/layers/tensor_axis.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::model {

/// Of each layer the fingerprint (kernels/fingerprint.hpp) of its output and of the gradient that leaves it towards the
/// layer below, each number at its place in the global batch: what ranks have adds up to the same sums on every grid.
class PassFingerprints {
 public:
  /// axis must outlive this object.
  PassFingerprints(const device::Device& device, const layers::TensorAxis& axis, std::int64_t layers)
      : device_(device), axis_(axis), forward_(static_cast<std::size_t>(layers) + 1), backward_(forward_.size()) {}

  void begin_step();
  /// values [n, D]: this rank's rows of the output of the embedding (layer -1) or of a block.
  void add_output(std::int64_t layer, const data::Batch& batch, const tensor::Tensor& values);
  /// values [n, D]: of the gradient of a block's input, or of the head's (layer = number of blocks).
  void add_gradient(std::int64_t layer, const data::Batch& batch, const tensor::Tensor& values);

  /// Of this rank's rows: the embedding, then the blocks.
  [[nodiscard]] const std::vector<std::uint64_t>& outputs() const noexcept { return forward_; }
  /// The blocks, then the head.
  [[nodiscard]] const std::vector<std::uint64_t>& gradients() const noexcept { return backward_; }

 private:
  [[nodiscard]] std::uint64_t fingerprint_of(const data::Batch& batch, const tensor::Tensor& values) const;

  const device::Device& device_;
  const layers::TensorAxis& axis_;
  std::vector<std::uint64_t> forward_;
  std::vector<std::uint64_t> backward_;
};

}  // namespace trireme::model
