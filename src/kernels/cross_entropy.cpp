#include "trireme/kernels/cross_entropy.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

#include "kernels/element.hpp"
#include "kernels/host/cross_entropy.isa.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/portable/cross_entropy.hpp"

namespace trireme::kernels {

namespace {

// A thread takes a row at a time, or a few of a small vocabulary.
template <class Body>
void for_row_blocks(const device::Device& device, std::int64_t rows, std::int64_t row_length, const Body& body) {
  constexpr std::int64_t elements_at_once = 4096;
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, elements_at_once / std::max<std::int64_t>(1, row_length));
  device.parallel((rows + rows_at_once - 1) / rows_at_once, [&](std::int64_t block, int) {
    body(block * rows_at_once, std::min((block + 1) * rows_at_once, rows));
  });
}

CrossEntropySlice slice_of(const tensor::Tensor& logits, std::int64_t vocab, std::int64_t first_id,
                           const tensor::Tensor& targets, const tensor::Tensor& statistics) {
  const std::int64_t rows = targets.size();
  TRIREME_EXPECT(vocab >= 0 && first_id >= 0);
  TRIREME_EXPECT(statistics.size() == num_statistics * rows);
  const std::int64_t padded = logits.shape.columns();
  TRIREME_EXPECT(vocab <= padded && logits.size() == rows * padded);
  return {.rows = rows,
          .first_id = first_id,
          .vocab = vocab,
          .padded = padded,
          .logits = logits.as<float>(),
          .targets = targets.as<std::int32_t>(),
          .statistics = statistics.as<float>()};
}

}  // namespace

void cross_entropy_statistics(const device::Device& device, const tensor::Tensor& logits, std::int64_t vocab,
                              std::int64_t first_id, const tensor::Tensor& targets, const tensor::Tensor& statistics) {
  const CrossEntropySlice slice = slice_of(logits, vocab, first_id, targets, statistics);
  if (device.space() != device::Space::host) return portable::cross_entropy_statistics(slice);
  const auto of_rows = TRIREME_ISA_CALL(device, cross_entropy_statistics);
  for_row_blocks(device, slice.rows, slice.padded,
                 [&](std::int64_t begin, std::int64_t end) { of_rows(slice, begin, end); });
}

void cross_entropy_combine(const device::Device& device, const tensor::Tensor& statistics,
                           const tensor::Tensor& coefficients, const tensor::Tensor& log_probability,
                           const tensor::Tensor& normalizer) {
  const std::int64_t rows = log_probability.size();
  TRIREME_EXPECT(statistics.shape.num_dims() == 3 && statistics.shape[1] == rows &&
                 statistics.shape[2] == num_statistics);
  TRIREME_EXPECT(normalizer.size() == 2 * rows && (coefficients.empty() || coefficients.size() == rows));
  const CrossEntropySlices slices{.slices = statistics.shape[0],
                                  .rows = rows,
                                  .statistics = statistics.as<float>(),
                                  .coefficients = coefficients.empty() ? nullptr : coefficients.as<float>(),
                                  .log_probability = log_probability.as<float>(),
                                  .normalizer = normalizer.as<float>()};
  if (device.space() != device::Space::host) return portable::cross_entropy_combine(slices);
  const auto of_rows = TRIREME_ISA_CALL(device, cross_entropy_combine);
  // A row costs little: a chunk of 256 rows is one thread's.
  for_row_blocks(device, rows, 16, [&](std::int64_t begin, std::int64_t end) { of_rows(slices, begin, end); });
}

void cross_entropy_gradient(const device::Device& device, const tensor::Tensor& logits, std::int64_t vocab,
                            std::int64_t first_id, const tensor::Tensor& targets, const tensor::Tensor& coefficients,
                            const tensor::Tensor& statistics, const tensor::Tensor& normalizer,
                            const tensor::Tensor& gradient) {
  const CrossEntropySlice slice = slice_of(logits, vocab, first_id, targets, statistics);
  TRIREME_EXPECT(coefficients.size() == slice.rows && normalizer.size() == 2 * slice.rows);
  const std::int64_t stride = gradient.shape.columns();
  TRIREME_EXPECT(gradient.size() == slice.rows * stride && stride >= slice.padded);
  with_element_type(gradient.dtype, [&](auto element) {
    using T = decltype(element);
    const CrossEntropyGradient<T> rows{.slice = slice,
                                       .coefficients = coefficients.as<float>(),
                                       .normalizer = normalizer.as<float>(),
                                       .gradient = gradient.as<T>(),
                                       .stride = stride};
    if (device.space() != device::Space::host) return portable::cross_entropy_gradient(rows);
    const auto of_rows = TRIREME_ISA_CALL(device, cross_entropy_gradient<T>);
    for_row_blocks(device, slice.rows, slice.padded,
                   [&](std::int64_t begin, std::int64_t end) { of_rows(rows, begin, end); });
  });
}

}  // namespace trireme::kernels
