#include "kernels/host/embedding.isa.hpp"

#include "trireme/base/dtype.hpp"

#include "kernels/host/columns.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

template <class Table, class T>
void embedding_forward(const EmbeddingForward<Table, T>& embedding, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = embedding.width;
  for (std::int64_t n = begin; n < end; ++n) {
    const std::int64_t id = embedding.ids[n] - embedding.first_id;
    const bool held = id >= 0 && id < embedding.vocab;
    T* y = embedding.y + n * width;
    if (held) {
      const Table* row = embedding.table + id * width;
      for_columns(width, [&](auto lanes, std::int64_t k) {
        const F32x16 value = lanes.load(row + k);
        lanes.store(y + k, embedding.adds ? lanes.load(y + k) + value : value);
      });
    } else if (!embedding.adds) {
      for_columns(width, [&](auto lanes, std::int64_t k) { lanes.store(y + k, zero()); });
    }
  }
}

template <class T>
void embedding_backward(const EmbeddingBackward<T>& embedding, std::int64_t column, std::int64_t count) {
  for (std::int64_t n = 0; n < embedding.tokens; ++n) {
    const std::int64_t id = embedding.ids[n] - embedding.first_id;
    if (id < 0 || id >= embedding.vocab) continue;
    const T* dy = embedding.dy + n * embedding.width + column;
    float* gradient = embedding.gradient + id * embedding.width + column;
    for_columns(count, [&](auto lanes, std::int64_t k) {
      lanes.store(gradient + k, lanes.load(gradient + k) + lanes.load(dy + k));
    });
  }
}

template void embedding_forward(const EmbeddingForward<float, float>&, std::int64_t, std::int64_t);
template void embedding_forward(const EmbeddingForward<Bf16, Bf16>&, std::int64_t, std::int64_t);
template void embedding_forward(const EmbeddingForward<Fp16, Fp16>&, std::int64_t, std::int64_t);
template void embedding_forward(const EmbeddingForward<Bf16, float>&, std::int64_t, std::int64_t);
template void embedding_forward(const EmbeddingForward<Fp16, float>&, std::int64_t, std::int64_t);
template void embedding_backward(const EmbeddingBackward<float>&, std::int64_t, std::int64_t);
template void embedding_backward(const EmbeddingBackward<Bf16>&, std::int64_t, std::int64_t);
template void embedding_backward(const EmbeddingBackward<Fp16>&, std::int64_t, std::int64_t);

}  // namespace trireme::kernels::host::TRIREME_ISA
