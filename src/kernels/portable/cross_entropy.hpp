// The portable forms of trireme/kernels/cross_entropy.hpp: one row at a time.
#pragma once

#include "kernels/cross_entropy_arguments.hpp"

namespace trireme::kernels::portable {

void cross_entropy_statistics(const CrossEntropySlice& slice);
void cross_entropy_combine(const CrossEntropySlices& slices);
template <class T>
void cross_entropy_gradient(const CrossEntropyGradient<T>& gradient);

}  // namespace trireme::kernels::portable
