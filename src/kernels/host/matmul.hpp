// One matrix product of the library on one thread.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "trireme/base/dtype.hpp"

namespace trireme::kernels::host {

/// A matrix in memory: element (i, j) stands at i * row_stride + j * column_stride; one of the two is 1.
struct Layout {
  Dtype dtype = Dtype::f32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  auto operator<=>(const Layout&) const = default;
};

/// C [m, n] = A [m, k] B [k, n] (+ bias [n] fp32), or C += ...
struct MatmulShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Layout a;
  Layout b;
  Layout c;
  bool bias = false;
  bool accumulate = false;
  auto operator<=>(const MatmulShape&) const = default;
};

/// A primitive with one set of arguments for each thread of the team. Creating one takes milliseconds.
class Matmul {
 public:
  /// scratch: one address on 64 bytes per thread, each of scratch_bytes. Throws SystemError when that is too little.
  Matmul(const dnnl::engine& engine, const MatmulShape& shape, std::span<void* const> scratch,
         std::size_t scratch_bytes);

  /// Computes on the calling thread, which is number `thread` of the team. bias is read only if the shape has one.
  void run(int thread, const void* a, const void* b, const void* bias, void* c);

 private:
  // The handles in the map are those of the memory objects, so a new address costs no allocation.
  struct Arguments {
    dnnl::stream stream;
    dnnl::memory a, b, bias, c;
    std::unordered_map<int, dnnl::memory> map;
  };
  Arguments make_arguments(const dnnl::engine& engine, const dnnl::matmul::primitive_desc& description,
                           void* scratch) const;

  MatmulShape shape_;
  dnnl::matmul primitive_;
  std::vector<Arguments> arguments_;
};

}  // namespace trireme::kernels::host
