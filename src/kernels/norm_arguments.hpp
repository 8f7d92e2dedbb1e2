// What the norm kernels of host and device are called with: plain pointers, shapes as in trireme/kernels/norm.hpp.
// Without a mean the norm is RMSNorm.
#pragma once

#include <cstdint>

namespace trireme::kernels {

template <class T>
struct NormForward {
  std::int64_t rows;
  std::int64_t width;
  const T* x;
  const float* gain;
  const float* bias;  ///< may be nullptr
  float epsilon;
  T* y;
  float* mean;  ///< nullptr: RMSNorm
  float* rstd;
};

template <class T>
struct NormBackward {
  std::int64_t rows;
  std::int64_t width;
  const T* dy;
  const T* x;
  const float* gain;
  const float* mean;  ///< nullptr: RMSNorm
  const float* rstd;
  T* dx;
  bool adds_dx;
  float* dgain;
  float* dbias;  ///< may be nullptr
  bool adds_parameters;
  float* scratch;  ///< [blocks, 2, D]: sums of each block of rows, for dgain and for dbias
};

}  // namespace trireme::kernels
