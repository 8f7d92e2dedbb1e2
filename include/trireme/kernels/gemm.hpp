// Matrix products of this rank, by the vendor's library, in pieces whose borders are constants: the same bits on any
// number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/write.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// The three products of a linear layer with weight W [out, in]. N tokens.
enum class Product : std::uint8_t { forward, backward_input, backward_weight };

/// Computes the three products. All tensors contiguous on 64 bytes, element types as the tensors say: fp32, or bf16 and
/// fp16 operands with an output of their type or fp32 (fp16 where the library has it: oneDNN 2.6.3 has not, which is a
/// SystemError). The sum over k runs in fixed sub-pieces, in order, accumulated in the output (in one piece where the
/// output is half precision). One object per device; primitives are created at the first call of a shape and kept. Rows
/// of y and dy may be longer than `out` (the row length is y's last extent, `out` the weight's first): the rest of each
/// row is neither read nor written. That is how a vocabulary of any size has aligned rows.
class Gemm {
 public:
  /// Takes its scratch (a constant size per thread) from the arena. The object may be built over a measuring arena;
  /// then it must not compute. Caps the instruction set of the library to the device's; throws SystemError when another
  /// cap is in force in this process.
  Gemm(const device::Device& device, device::Arena& arena);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// y (set or added) = x W^T + bias. x [N, in], weight [out, in], bias [out] fp32 or empty, y [N, out].
  /// 2 N in out FLOP, as each of the three.
  void forward(const tensor::Tensor& x, const tensor::Tensor& weight, const tensor::Tensor& bias,
               const tensor::Tensor& y, Write write = Write::set);

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

/// Whether Write::add gives the very bits of Write::set into a partial result of fp32 and a separate addition, for the
/// product of N tokens with weight [out, in] of `dtype`. Tried out on random numbers: the library may add its output in
/// the middle of a sum over k. Where it is false, sums that must not depend on the grid need the separate addition.
[[nodiscard]] bool sum_post_op_is_exact(const device::Device& device, Product product, std::int64_t num_tokens,
                                        std::int64_t in, std::int64_t out, Dtype dtype);

/// The library that multiplies, `oneDNN 2.6.3`.
[[nodiscard]] std::string gemm_library_version();

}  // namespace trireme::kernels
