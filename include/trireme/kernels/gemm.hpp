// Matrix products of this rank, by the vendor's library, in pieces whose borders are constants: the same bits on any
// number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/write.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// The three products of a linear layer with weight W [out, in]. N tokens.
enum class Product : std::uint8_t { forward, backward_input, backward_weight };

/// Computes the three products. All tensors contiguous on 64 bytes; operands are fp32, or both bf16 or both fp16; the
/// output is of their type or fp32. The sum over k is made in fp32 and rounded once where the output is half precision.
/// What the library does not multiply (fp16, and bf16 below Isa::avx512_bf16) is widened to fp32 piece by piece; bf16
/// at Isa::amx is multiplied by our own kernel.
///
/// With fp32 operands the sum over k runs in fixed sub-pieces, in order, accumulated in the output. With half operands
/// Write::add into fp32 gives the very bits of Write::set into a partial result and one addition.
///
/// One object per device; primitives are created at the first call of a shape and kept. Rows of y and dy may be longer
/// than `out` (the row length is y's last extent, `out` the weight's first): the rest of each row is neither read nor
/// written. That is how a vocabulary of any size has aligned rows.
class Gemm {
 public:
  /// For products of fp32 and of `compute`. Takes its scratch from the arena, a constant size per thread: 2.3 MiB for
  /// fp32, 2.1 MiB more for half precision, 6.3 MiB more where operands are widened, 2 MiB more at Isa::amx. The object
  /// may be built over a measuring arena; then it must not compute. Gives the library the device's instruction set;
  /// throws SystemError when it works with another one in this process.
  Gemm(const device::Device& device, device::Arena& arena, Dtype compute = Dtype::f32);
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

  /// `between` is called after every product: messages that are under way need a call of their library now and then.
  void call_between(std::function<void()> between);

  /// FLOP done since construction (2 per multiply-add).
  [[nodiscard]] double flop() const noexcept;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

/// Whether Write::add gives the very bits of Write::set into a partial result of fp32 and a separate addition, for the
/// product of N tokens with weight [out, in] of `dtype`, tried out on random numbers. True for half precision; in fp32
/// the sum over k may begin with the former output, and sums that must not depend on the grid need the separate
/// addition.
[[nodiscard]] bool sum_post_op_is_exact(const device::Device& device, Product product, std::int64_t num_tokens,
                                        std::int64_t in, std::int64_t out, Dtype dtype);

/// The library that multiplies, `oneDNN 2.6.3`.
[[nodiscard]] std::string gemm_library_version();

}  // namespace trireme::kernels
