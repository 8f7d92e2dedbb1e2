#include "trireme/kernels/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "trireme/base/error.hpp"

#include "kernels/chunks.hpp"
#include "kernels/element.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/host/reduce.isa.hpp"
#include "kernels/portable/reduce.hpp"
#include "kernels/row_blocks.hpp"

namespace trireme::kernels {

namespace {

constexpr std::int64_t divided_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit;
}

template <class T>
void column_sum_on_host(const device::Device& device, const tensor::Tensor& x, const tensor::Tensor& out, Write write,
                        float* sums) {
  const std::int64_t rows = x.shape.rows();
  const std::int64_t columns = x.shape.columns();
  const std::int64_t blocks = divided_up(rows, block_rows);
  const auto sum_rows = TRIREME_ISA_CALL(device, sum_rows<T>);
  device.parallel(blocks, [&](std::int64_t block, int) {
    const std::int64_t begin = block * block_rows;
    sum_rows(std::min(block_rows, rows - begin), columns, x.as<T>() + begin * columns, sums + block * columns);
  });
  constexpr std::int64_t columns_at_once = 256;
  const auto add_blocks = TRIREME_ISA_CALL(device, add_blocks);
  device.parallel(divided_up(columns, columns_at_once), [&](std::int64_t piece, int) {
    const std::int64_t begin = piece * columns_at_once;
    add_blocks(blocks, columns, std::min(columns_at_once, columns - begin), sums + begin, write == Write::add,
               out.as<float>() + begin);
  });
}

}  // namespace

void sum_of_squares(const device::Device& device, std::int64_t rows, std::int64_t columns, const float* gradient,
                    const float* second_gradient, ExactSum& sum) {
  constexpr std::int64_t runs_at_once = 32;
  const std::int64_t runs_per_row = divided_up(columns, run_elements);
  const std::int64_t runs = rows * runs_per_row;
  const auto of_run = TRIREME_ISA_CALL(device, sum_of_squares_run);
  // Any split over threads gives the same sum: it is exact.
  std::vector<ExactSum> sums(static_cast<std::size_t>(device.num_threads()));
  device.parallel(divided_up(runs, runs_at_once), [&](std::int64_t block, int thread) {
    const std::int64_t end = std::min((block + 1) * runs_at_once, runs);
    for (std::int64_t run = block * runs_at_once; run < end; ++run) {
      const std::int64_t column = run % runs_per_row * run_elements;
      const std::int64_t offset = run / runs_per_row * columns + column;
      sums[static_cast<std::size_t>(thread)].add(
          of_run(std::min(run_elements, columns - column), gradient + offset,
                 second_gradient != nullptr ? second_gradient + offset : nullptr));
    }
  });
  for (const ExactSum& of_thread : sums) sum.add(of_thread);
}

void add_to(const device::Device& device, std::int64_t count, const float* source, float* target) {
  const auto add = TRIREME_ISA_CALL(device, add_run);
  for_chunks(device, count,
             [&](std::int64_t begin, std::int64_t length) { add(length, source + begin, target + begin); });
}

void tree_sum(const device::Device& device, float* parts, std::int64_t count, std::int64_t elements) {
  const auto add = TRIREME_ISA_CALL(device, add_tree);
  for_chunks(device, elements,
             [&](std::int64_t begin, std::int64_t length) { add(count, elements, length, parts + begin); });
}

void column_sum(const device::Device& device, const tensor::Tensor& x, const tensor::Tensor& out, Write write,
                const tensor::Tensor& scratch) {
  TRIREME_EXPECT(out.size() == x.shape.columns());
  TRIREME_EXPECT(scratch.size() >= column_sum_scratch_elements(x.shape.rows(), x.shape.columns()));
  if (device.space() != device::Space::host) return portable::column_sum(x, out, write);
  with_element_type(x.dtype, [&](auto element) {
    column_sum_on_host<decltype(element)>(device, x, out, write, scratch.as<float>());
  });
}

std::int64_t column_sum_scratch_elements(std::int64_t rows, std::int64_t columns) {
  return divided_up(rows, block_rows) * columns;
}

bool all_finite(const device::Device& device, const tensor::Tensor& values) {
  std::atomic<bool> finite{true};
  with_element_type(values.dtype, [&](auto element) {
    using T = decltype(element);
    const auto is_finite = TRIREME_ISA_CALL(device, finite_run<T>);
    for_chunks(device, values.size(), [&](std::int64_t begin, std::int64_t length) {
      if (finite && !is_finite(length, values.as<T>() + begin)) finite = false;
    });
  });
  return finite;
}

}  // namespace trireme::kernels
