#include "kernels/portable/reduce.hpp"

#include <Kokkos_Core.hpp>

#include "kernels/element.hpp"
#include "kernels/row_blocks.hpp"

namespace trireme::kernels::portable {

namespace {

template <class T>
struct ColumnSum {
  const T* x;
  std::int64_t rows, columns;
  float* out;
  bool adds;

  KOKKOS_INLINE_FUNCTION float block_sum(std::int64_t block, std::int64_t column) const {
    const std::int64_t first = block * block_rows;
    float sum = to_float(x[first * columns + column]);
    for (std::int64_t row = first + 1; row < rows && row < first + block_rows; ++row) {
      sum += to_float(x[row * columns + column]);
    }
    return sum;
  }

  // Level l of `pending` holds the sum of 2^l blocks where the number of blocks so far has that bit: a binary counter
  // adds blocks in the balanced tree.
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t column) const {
    const std::int64_t blocks = (rows + block_rows - 1) / block_rows;
    float pending[48];
    for (std::int64_t block = 0; block < blocks; ++block) {
      float sum = block_sum(block, column);
      int level = 0;
      for (; ((block >> level) & 1) != 0; ++level) sum = pending[level] + sum;
      pending[level] = sum;
    }
    float total = 0;
    bool first = true;
    for (int level = 0; level < 48; ++level) {
      if (((blocks >> level) & 1) == 0) continue;
      total = first ? pending[level] : pending[level] + total;
      first = false;
    }
    out[column] = adds ? out[column] + total : total;
  }
};

}  // namespace

void column_sum(const tensor::Tensor& x, const tensor::Tensor& out, Write write) {
  with_element_type(x.dtype, [&](auto element) {
    using T = decltype(element);
    Kokkos::parallel_for(
        "trireme::column_sum", Kokkos::RangePolicy<>(0, out.size()),
        ColumnSum<T>{x.as<T>(), x.shape.rows(), x.shape.columns(), out.as<float>(), write == Write::add});
  });
}

}  // namespace trireme::kernels::portable
