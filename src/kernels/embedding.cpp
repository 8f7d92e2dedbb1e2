#include "trireme/kernels/embedding.hpp"

#include <algorithm>
#include <type_traits>

#include "trireme/base/error.hpp"

#include "kernels/element.hpp"
#include "kernels/host/embedding.isa.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/portable/embedding.hpp"

// Why there is a host form: ns an element on a Xeon with AMX, one thread, fp32, width 768, portable over a Serial
// Kokkos against AVX-512: forward 3.7 / 0.12, backward 0.7 / 0.12.

namespace trireme::kernels {

namespace {

template <class Table, class T>
void forward(const device::Device& device, const EmbeddingForward<Table, T>& embedding) {
  if (device.space() != device::Space::host) return portable::embedding_forward(embedding);
  constexpr std::int64_t tokens_at_once = 32;
  const auto read = TRIREME_ISA_CALL(device, embedding_forward<Table, T>);
  device.parallel((embedding.tokens + tokens_at_once - 1) / tokens_at_once, [&](std::int64_t block, int) {
    read(embedding, block * tokens_at_once, std::min((block + 1) * tokens_at_once, embedding.tokens));
  });
}

// Every element adds its tokens in the same order however the columns are shared out, so the shares may be as wide as
// the number of threads allows.
template <class T>
void backward(const device::Device& device, const EmbeddingBackward<T>& embedding) {
  if (device.space() != device::Space::host) return portable::embedding_backward(embedding);
  constexpr std::int64_t cache_line = 16;
  const std::int64_t lines = (embedding.width + cache_line - 1) / cache_line;
  const std::int64_t columns = (lines + device.num_threads() - 1) / device.num_threads() * cache_line;
  const auto add = TRIREME_ISA_CALL(device, embedding_backward<T>);
  device.parallel((embedding.width + columns - 1) / columns, [&](std::int64_t share, int) {
    add(embedding, share * columns, std::min(columns, embedding.width - share * columns));
  });
}

}  // namespace

void embedding_forward(const device::Device& device, const tensor::Tensor& ids, std::int64_t first_id,
                       const tensor::Tensor& table, const tensor::Tensor& y, Write write) {
  const std::int64_t width = table.shape[1];
  TRIREME_EXPECT(y.size() == ids.size() * width);
  TRIREME_EXPECT(table.dtype == y.dtype || y.dtype == Dtype::f32);
  with_element_type(table.dtype, [&](auto element) {
    using Table = decltype(element);
    const auto read = [&](auto* target) {
      using T = std::remove_pointer_t<decltype(target)>;
      forward<Table, T>(device, {.tokens = ids.size(),
                                 .width = width,
                                 .first_id = first_id,
                                 .vocab = table.shape[0],
                                 .ids = ids.as<std::int32_t>(),
                                 .table = table.as<Table>(),
                                 .y = target,
                                 .adds = write == Write::add});
    };
    if (y.dtype == Dtype::f32) {
      read(y.as<float>());
    } else {
      read(y.as<Table>());
    }
  });
}

void embedding_backward(const device::Device& device, const tensor::Tensor& ids, std::int64_t first_id,
                        const tensor::Tensor& dy, const tensor::Tensor& gradient) {
  const std::int64_t width = gradient.shape[1];
  TRIREME_EXPECT(dy.size() == ids.size() * width);
  if (gradient.size() == 0) return;
  with_element_type(dy.dtype, [&](auto element) {
    using T = decltype(element);
    backward<T>(device, {.tokens = ids.size(),
                         .width = width,
                         .first_id = first_id,
                         .vocab = gradient.shape[0],
                         .ids = ids.as<std::int32_t>(),
                         .dy = dy.as<T>(),
                         .gradient = gradient.as<float>()});
  });
}

}  // namespace trireme::kernels
