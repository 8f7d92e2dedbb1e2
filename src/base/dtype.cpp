#include "trireme/base/dtype.hpp"

namespace trireme {

std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::u8:
      return 1;
    case Dtype::bf16:
    case Dtype::f16:
    case Dtype::u16:
      return 2;
    case Dtype::f32:
    case Dtype::i32:
      return 4;
    case Dtype::f64:
    case Dtype::i64:
    case Dtype::u64:
      return 8;
  }
  return 0;
}

std::string_view name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "fp32";
    case Dtype::f64:
      return "fp64";
    case Dtype::bf16:
      return "bf16";
    case Dtype::f16:
      return "fp16";
    case Dtype::i32:
      return "int32";
    case Dtype::i64:
      return "int64";
    case Dtype::u8:
      return "uint8";
    case Dtype::u16:
      return "uint16";
    case Dtype::u64:
      return "uint64";
  }
  return "unknown";
}

}  // namespace trireme
