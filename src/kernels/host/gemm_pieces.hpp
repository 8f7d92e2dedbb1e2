// How a product C [m, n] = A [m, k] B [k, n] is cut. The borders depend on the shape alone, never on the number of
// threads, and so do the bits.
#pragma once

#include <cstdint>

#include "trireme/kernels/gemm.hpp"

namespace trireme::kernels::host {

/// No piece that is summed in fp32 is larger.
inline constexpr std::int64_t max_piece_rows = 512;
inline constexpr std::int64_t max_piece_columns = 1056;  // 1024 rounded up to the library's register tile
inline constexpr std::int64_t max_piece_depth = 1024;

/// Floats from line to line of a piece in scratch: whole cache lines, and no power of two.
[[nodiscard]] constexpr std::int64_t line_stride_of(std::int64_t length) {
  return (length / 16 + 2) * 16;
}

/// One dim cut in equal pieces; the last one may be smaller.
class Cut {
 public:
  /// About `num_pieces` pieces whose size is a multiple of `grain`.
  Cut(std::int64_t extent, std::int64_t num_pieces, std::int64_t grain);
  [[nodiscard]] std::int64_t num_pieces() const noexcept { return num_pieces_; }
  [[nodiscard]] std::int64_t begin(std::int64_t piece) const noexcept { return piece * size_; }
  [[nodiscard]] std::int64_t size(std::int64_t piece) const noexcept;
  [[nodiscard]] bool is_last(std::int64_t piece) const noexcept { return piece + 1 == num_pieces_; }

 private:
  std::int64_t extent_;
  std::int64_t size_;
  std::int64_t num_pieces_;
};

struct Pieces {
  Cut rows;     ///< of C
  Cut columns;  ///< of C
  Cut depth;    ///< of k: added one after the other
  [[nodiscard]] std::int64_t num_blocks() const noexcept { return rows.num_pieces() * columns.num_pieces(); }
};

/// The pieces of a product. `whole_depth` keeps k in one piece, of at most 256 x 768: a sum that is kept in half
/// precision must not be rounded between pieces. m, n, k > 0.
[[nodiscard]] Pieces cut_product(Product product, std::int64_t m, std::int64_t n, std::int64_t k, bool whole_depth);

}  // namespace trireme::kernels::host
