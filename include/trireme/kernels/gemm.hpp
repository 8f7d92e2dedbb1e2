// Matrix products of this rank, by the vendor's library, in pieces whose borders are constants: the same bits on any
// number of threads.
#pragma once

#include <cstdint>
#include <memory>

#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/write.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// The three products of a linear layer with weight W [out, in]. N tokens.
/// One object per device; primitives are created at the first call of a shape and kept.
/// Rows of y and dy may be longer than `out` (the row length is y's last extent, `out` the weight's first): the rest of each
/// row is neither read nor written. That is how a vocabulary of any size has aligned rows.
class Gemm {
 public:
  /// Takes its scratch (a constant size per thread) from the arena. The object may be built over a measuring arena; then
  /// it must not compute.
  Gemm(const device::Device& device, device::Arena& arena);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// y = x W^T + bias. x [N, in], weight [out, in], bias [out] fp32 or empty, y [N, out]. 2 N in out FLOP.
  void forward(const tensor::Tensor& x, const tensor::Tensor& weight, const tensor::Tensor& bias,
               const tensor::Tensor& y);

  /// dx (set or added) = dy W. dy [N, out], weight [out, in], dx [N, in].
  void backward_input(const tensor::Tensor& dy, const tensor::Tensor& weight, const tensor::Tensor& dx, Write write);

  /// dweight (set or added) = dy^T x. dy [N, out], x [N, in], dweight [out, in] fp32.
  void backward_weight(const tensor::Tensor& dy, const tensor::Tensor& x, const tensor::Tensor& dweight, Write write);

  /// FLOP done since construction (2 per multiply-add).
  [[nodiscard]] double flop() const noexcept;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace trireme::kernels
