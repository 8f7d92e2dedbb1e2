// What every layer computes with, and what it is told of the rows it computes.
// B sequences of a micro-batch, T tokens of a sequence, N = B * T rows, n of them this rank's along the tensor axis, D
// width, S slices of the tensor dimension, s = S / t of them this rank's.
#pragma once

#include <cstdint>

#include "trireme/device/device.hpp"
#include "trireme/kernels/gemm.hpp"
#include "trireme/kernels/random.hpp"
#include "trireme/layers/tensor_axis.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::layers {

/// The rank's processor, its matrix products, and one scratch that no kernel keeps beyond its call.
struct Context {
  const device::Device& device;
  kernels::Gemm& gemm;
  TensorAxis& axis;
  tensor::Tensor scratch;  ///< [bytes] u8, as large as the largest layer's scratch_bytes()

  /// The scratch seen as fp32.
  [[nodiscard]] tensor::Tensor scratch_floats() const;
};

/// The rows of one micro-batch.
struct Sequences {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  tensor::Tensor ids;        ///< [N] int32
  tensor::Tensor positions;  ///< [N] int32
  tensor::Tensor starts;     ///< [B, T] int32 or empty: where each position's document begins
  bool training = false;     ///< dropout acts
  std::uint64_t seed = 1;
  std::uint64_t step = 0;
  std::int64_t first_sequence = 0;  ///< number within the global batch

  [[nodiscard]] std::int64_t rows() const noexcept { return batch * tokens; }
  /// The dropout of a site of the model, for rows from `first_row` on: inactive outside of training.
  [[nodiscard]] kernels::Dropout dropout(double probability, std::uint32_t site, std::int64_t first_row = 0) const;
};

}  // namespace trireme::layers
