// Runs of `count` elements; outputs may be inputs. The formulas stand in trireme/kernels/activation.hpp.
#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

TRIREME_ISA_DECLARE(template <class T> void gelu_exact_forward(std::int64_t count, const T* x, T* y);
                    template <class T> void gelu_exact_backward(std::int64_t count, const T* dy, const T* x, T* dx);
                    template <class T> void gelu_tanh_forward(std::int64_t count, const T* x, T* y);
                    template <class T> void gelu_tanh_backward(std::int64_t count, const T* dy, const T* x, T* dx);
                    template <class T> void swiglu_forward(std::int64_t count, const T* gate, const T* up, T* y);
                    template <class T>
                    void swiglu_backward(std::int64_t count, const T* dy, const T* gate, const T* up, T* dgate, T* dup))

}  // namespace trireme::kernels::host
