#include "trireme/kernels/fingerprint.hpp"

#include <algorithm>
#include <atomic>

#include "trireme/base/error.hpp"

#include "kernels/host/fingerprint.isa.hpp"
#include "kernels/host/isa_call.hpp"

namespace trireme::kernels {

namespace {

constexpr std::int64_t elements_at_once = 1 << 16;

/// A run of a row, cut where the upper half of the index changes.
template <class T>
std::uint64_t of_run(const device::Device& device, std::int64_t count, const T* values, std::uint64_t first_index) {
  const auto sum_of = TRIREME_ISA_CALL(device, fingerprint_run<T>);
  std::uint64_t sum = 0;
  while (count > 0) {
    const std::uint64_t to_border = (std::uint64_t{1} << 32U) - (first_index & 0xFFFFFFFFU);
    const auto length =
        static_cast<std::int64_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(count), to_border));
    sum += sum_of(length, values, first_index);
    values += length;
    first_index += static_cast<std::uint64_t>(length);
    count -= length;
  }
  return sum;
}

template <class T>
std::uint64_t of_matrix(const device::Device& device, std::int64_t rows, std::int64_t columns, const T* values,
                        std::uint64_t first_index, std::int64_t row_stride) {
  const std::int64_t runs_per_row = (columns + elements_at_once - 1) / elements_at_once;
  const std::int64_t runs = rows * runs_per_row;
  const std::int64_t runs_at_once = std::max<std::int64_t>(1, elements_at_once / std::max<std::int64_t>(1, columns));
  // In any order: they are integers.
  std::atomic<std::uint64_t> total{0};
  device.parallel((runs + runs_at_once - 1) / runs_at_once, [&](std::int64_t block, int) {
    std::uint64_t sum = 0;
    for (std::int64_t run = block * runs_at_once; run < std::min(runs, (block + 1) * runs_at_once); ++run) {
      const std::int64_t row = run / runs_per_row;
      const std::int64_t column = run % runs_per_row * elements_at_once;
      sum += of_run(device, std::min(elements_at_once, columns - column), values + row * columns + column,
                    first_index + static_cast<std::uint64_t>(row * row_stride + column));
    }
    total += sum;
  });
  return total;
}

}  // namespace

std::uint64_t fingerprint(const device::Device& device, const tensor::Tensor& values, std::uint64_t first_index,
                          std::int64_t row_stride) {
  TRIREME_EXPECT(device.space() == device::Space::host);
  TRIREME_EXPECT(size_of(values.dtype) == 4 || size_of(values.dtype) == 2);
  if (values.size() == 0) return 0;
  const std::int64_t rows = values.shape.rows();
  const std::int64_t columns = values.shape.columns();
  if (size_of(values.dtype) == 2) {
    return of_matrix(device, rows, columns, static_cast<const std::uint16_t*>(values.data), first_index, row_stride);
  }
  return of_matrix(device, rows, columns, static_cast<const std::uint32_t*>(values.data), first_index, row_stride);
}

}  // namespace trireme::kernels
