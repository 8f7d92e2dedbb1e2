#include "kernels/portable/embedding.hpp"

#include <Kokkos_Core.hpp>

#include "kernels/element.hpp"

namespace trireme::kernels::portable {

namespace {

/// One element of y.
template <class Table, class T>
struct TableReader {
  EmbeddingForward<Table, T> embedding;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t n = i / embedding.width;
    const std::int64_t k = i % embedding.width;
    const std::int64_t id = embedding.ids[n] - embedding.first_id;
    const bool held = id >= 0 && id < embedding.vocab;
    if (embedding.adds && !held) return;
    const float value = held ? to_float(embedding.table[id * embedding.width + k]) : 0.0F;
    embedding.y[i] = from_float<T>(embedding.adds ? to_float(embedding.y[i]) + value : value);
  }
};

/// One column of the gradient, one token after the other: the order of the additions is fixed without atomics.
template <class T>
struct ColumnAdder {
  EmbeddingBackward<T> embedding;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t k) const {
    for (std::int64_t n = 0; n < embedding.tokens; ++n) {
      const std::int64_t id = embedding.ids[n] - embedding.first_id;
      if (id < 0 || id >= embedding.vocab) continue;
      embedding.gradient[id * embedding.width + k] += to_float(embedding.dy[n * embedding.width + k]);
    }
  }
};

}  // namespace

template <class Table, class T>
void embedding_forward(const EmbeddingForward<Table, T>& embedding) {
  Kokkos::parallel_for("trireme::embedding_forward", Kokkos::RangePolicy<>(0, embedding.tokens * embedding.width),
                       TableReader<Table, T>{embedding});
}

template <class T>
void embedding_backward(const EmbeddingBackward<T>& embedding) {
  Kokkos::parallel_for("trireme::embedding_backward", Kokkos::RangePolicy<>(0, embedding.width),
                       ColumnAdder<T>{embedding});
}

template void embedding_forward(const EmbeddingForward<float, float>&);
template void embedding_forward(const EmbeddingForward<Bf16, Bf16>&);
template void embedding_forward(const EmbeddingForward<Fp16, Fp16>&);
template void embedding_forward(const EmbeddingForward<Bf16, float>&);
template void embedding_forward(const EmbeddingForward<Fp16, float>&);
template void embedding_backward(const EmbeddingBackward<float>&);
template void embedding_backward(const EmbeddingBackward<Bf16>&);
template void embedding_backward(const EmbeddingBackward<Fp16>&);

}  // namespace trireme::kernels::portable
