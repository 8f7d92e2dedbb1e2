// What the embedding kernels of host and device are called with; shapes as in trireme/kernels/embedding.hpp.
#pragma once

#include <cstdint>

namespace trireme::kernels {

template <class Table, class T>
struct EmbeddingForward {
  std::int64_t tokens;
  std::int64_t width;
  std::int64_t first_id;
  std::int64_t vocab;
  const std::int32_t* ids;
  const Table* table;
  T* y;
  bool adds;
};

template <class T>
struct EmbeddingBackward {
  std::int64_t tokens;
  std::int64_t width;
  std::int64_t first_id;
  std::int64_t vocab;
  const std::int32_t* ids;
  const T* dy;
  float* gradient;
};

}  // namespace trireme::kernels
