// The portable forms of trireme/kernels/embedding.hpp.
#pragma once

#include "kernels/embedding_arguments.hpp"

namespace trireme::kernels::portable {

template <class Table, class T>
void embedding_forward(const EmbeddingForward<Table, T>& embedding);
template <class T>
void embedding_backward(const EmbeddingBackward<T>& embedding);

}  // namespace trireme::kernels::portable
