// A product cut in pieces that the rank's threads share out.
#pragma once

#include <array>
#include <memory>

#include <dnnl.hpp>

#include "trireme/device/device.hpp"

#include "kernels/host/gemm_pieces.hpp"
#include "kernels/host/gemm_scratch.hpp"
#include "kernels/host/matmul.hpp"

namespace trireme::kernels::host {

/// Operands that the library does not multiply are widened to fp32, piece by piece. A piece of the output is computed
/// in place or *aside*, in fp32 in the thread's scratch: there its sum over k can run in sub-pieces without being
/// rounded to half precision, and a product is complete before it is added to the output.
class CutMatmul {
 public:
  /// Creates the primitives of all sizes of pieces. The device and the scratch must outlive it.
  CutMatmul(const device::Device& device, const dnnl::engine& engine, Product product, const MatmulShape& shape,
            const GemmScratch& scratch);

  void run(const void* a, const void* b, const void* bias, void* c);

 private:
  /// Where a block of the output begins, and its size.
  struct Block {
    std::int64_t row, column;  // of pieces
    std::int64_t i, j, m, n;
  };
  [[nodiscard]] Block block_of(std::int64_t number) const;
  [[nodiscard]] bool adds_aside(const dnnl::engine& engine) const;
  [[nodiscard]] MatmulShape piece_shape(std::int64_t row, std::int64_t column, std::int64_t depth) const;
  [[nodiscard]] std::unique_ptr<Matmul>& primitive(std::int64_t row, std::int64_t column, std::int64_t depth);
  void run_block(const Block& block, int thread, const void* a, const void* b, const void* bias, void* c);
  /// The operands' pieces as the library takes them.
  [[nodiscard]] const void* piece_of_a(const void* a, const Block& block, std::int64_t depth, int thread) const;
  [[nodiscard]] const void* piece_of_b(const void* b, const Block& block, std::int64_t depth, int thread) const;

  const device::Device& device_;
  const GemmScratch& scratch_;
  MatmulShape shape_;
  bool widens_;
  bool aside_;
  Pieces pieces_;
  // By: last row of pieces or not, last column or not, first, inner or last in depth.
  std::array<std::unique_ptr<Matmul>, 12> primitives_;
};

}  // namespace trireme::kernels::host
