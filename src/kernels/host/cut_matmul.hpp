// A product cut in pieces that the rank's threads share out.
#pragma once

#include <array>
#include <memory>
#include <span>

#include <dnnl.hpp>

#include "trireme/device/device.hpp"

#include "kernels/host/gemm_pieces.hpp"
#include "kernels/host/matmul.hpp"

namespace trireme::kernels::host {

class CutMatmul {
 public:
  /// Creates the primitives of all sizes of pieces. scratch: as for Matmul.
  CutMatmul(const dnnl::engine& engine, Product product, const MatmulShape& shape, std::span<void* const> scratch,
            std::size_t scratch_bytes);

  void run(const device::Device& device, const void* a, const void* b, const void* bias, void* c);

 private:
  void run_block(std::int64_t block, int thread, const void* a, const void* b, const void* bias, void* c);
  [[nodiscard]] MatmulShape piece_shape(std::int64_t row, std::int64_t column, std::int64_t depth) const;
  [[nodiscard]] std::unique_ptr<Matmul>& primitive(std::int64_t row, std::int64_t column, std::int64_t depth);

  MatmulShape shape_;
  Pieces pieces_;
  // By: last row of pieces or not, last column or not, first, inner or last in depth.
  std::array<std::unique_ptr<Matmul>, 12> primitives_;
};

}  // namespace trireme::kernels::host
