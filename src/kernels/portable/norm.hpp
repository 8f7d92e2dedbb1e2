// The portable forms of the norms (trireme/kernels/norm.hpp).
#pragma once

#include "kernels/norm_arguments.hpp"

namespace trireme::kernels::portable {

template <class T>
void norm_forward(const NormForward<T>& norm);
template <class T>
void norm_backward(const NormBackward<T>& norm);

}  // namespace trireme::kernels::portable
