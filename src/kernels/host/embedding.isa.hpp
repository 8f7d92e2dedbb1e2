#pragma once

#include <cstdint>

#include "kernels/embedding_arguments.hpp"
#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

TRIREME_ISA_DECLARE(
    /// y of tokens [begin, end).
    template <class Table, class T>
    void embedding_forward(const EmbeddingForward<Table, T>& embedding, std::int64_t begin, std::int64_t end);
    /// Columns [column, column + count) of the gradient, one token after the other.
    template <class T>
    void embedding_backward(const EmbeddingBackward<T>& embedding, std::int64_t column, std::int64_t count))

}  // namespace trireme::kernels::host
