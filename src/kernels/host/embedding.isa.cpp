#include "kernels/host/embedding.isa.hpp"

#include "trireme/base/dtype.hpp"

#include "kernels/host/columns.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

template <class T>
void embedding_forward(const EmbeddingForward<T>& embedding, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = embedding.width;
  for (std::int64_t n = begin; n < end; ++n) {
    const std::int64_t id = embedding.ids[n];
    const T* token = id >= 0 && id < embedding.vocab ? embedding.token_table + id * width : nullptr;
    const T* position =
        embedding.position_table != nullptr ? embedding.position_table + embedding.positions[n] * width : nullptr;
    T* y = embedding.y + n * width;
    for_columns(width, [&](auto lanes, std::int64_t k) {
      const F32x16 of_token = token != nullptr ? lanes.load(token + k) : zero();
      lanes.store(y + k, position != nullptr ? of_token + lanes.load(position + k) : of_token);
    });
  }
}

template <class T>
void embedding_backward(const EmbeddingBackward<T>& embedding, std::int64_t column, std::int64_t count) {
  for (std::int64_t n = 0; n < embedding.tokens; ++n) {
    const std::int64_t id = embedding.ids[n];
    if (id < 0 || id >= embedding.vocab) continue;
    const T* dy = embedding.dy + n * embedding.width + column;
    float* gradient = embedding.gradient + id * embedding.width + column;
    for_columns(count, [&](auto lanes, std::int64_t k) {
      lanes.store(gradient + k, lanes.load(gradient + k) + lanes.load(dy + k));
    });
  }
}

template void embedding_forward(const EmbeddingForward<float>&, std::int64_t, std::int64_t);
template void embedding_forward(const EmbeddingForward<Bf16>&, std::int64_t, std::int64_t);
template void embedding_forward(const EmbeddingForward<Fp16>&, std::int64_t, std::int64_t);
template void embedding_backward(const EmbeddingBackward<float>&, std::int64_t, std::int64_t);
template void embedding_backward(const EmbeddingBackward<Bf16>&, std::int64_t, std::int64_t);
template void embedding_backward(const EmbeddingBackward<Fp16>&, std::int64_t, std::int64_t);

}  // namespace trireme::kernels::host::TRIREME_ISA
