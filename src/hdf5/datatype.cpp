#include "hdf5/datatype.hpp"

#include <fmt/format.h>

namespace trireme::hdf5 {
namespace {

constexpr Dtype stored_dtypes[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::i32,
                                   Dtype::i64, Dtype::u8,  Dtype::u16, Dtype::u64};

Handle copy_of(hid_t type) {
  return {check_id(H5Tcopy(type), "copy a datatype"), H5Tclose};
}

/// IEEE half: sign at bit 15, 5 bits of exponent from bit 10, 10 of mantissa from bit 0, bias 15.
Handle half_type() {
  Handle type = copy_of(H5T_IEEE_F32LE);
  check(H5Tset_fields(type.get(), 15, 10, 5, 0, 10), "lay out the fp16 type");
  check(H5Tset_size(type.get(), 2), "size the fp16 type");
  check(H5Tset_ebias(type.get(), 15), "bias the fp16 type");
  return type;
}

const char* class_name(H5T_class_t type_class) {
  switch (type_class) {
    case H5T_INTEGER:
      return "integer";
    case H5T_FLOAT:
      return "float";
    case H5T_STRING:
      return "string";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enumeration";
    case H5T_VLEN:
      return "variable-length sequence";
    case H5T_ARRAY:
      return "array";
    default:
      return "other type";
  }
}

}  // namespace

Handle file_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return copy_of(H5T_IEEE_F32LE);
    case Dtype::f64:
      return copy_of(H5T_IEEE_F64LE);
    case Dtype::f16:
      return half_type();
    case Dtype::i32:
      return copy_of(H5T_STD_I32LE);
    case Dtype::i64:
      return copy_of(H5T_STD_I64LE);
    case Dtype::u8:
      return copy_of(H5T_STD_U8LE);
    case Dtype::bf16:
    case Dtype::u16:
      return copy_of(H5T_STD_U16LE);
    case Dtype::u64:
      return copy_of(H5T_STD_U64LE);
  }
  return {};
}

std::optional<Dtype> dtype_stored_as(hid_t type) {
  for (const Dtype dtype : stored_dtypes) {
    if (H5Tequal(type, file_type(dtype).get()) > 0) {
      return dtype;
    }
  }
  return std::nullopt;
}

std::string describe_type(hid_t type) {
  const H5T_class_t type_class = H5Tget_class(type);
  if (type_class != H5T_INTEGER && type_class != H5T_FLOAT) {
    return class_name(type_class);
  }
  const bool is_unsigned = type_class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
  const bool is_big_endian = H5Tget_order(type) == H5T_ORDER_BE;
  return fmt::format("{}{}-byte {}{}", is_big_endian ? "big-endian " : "", H5Tget_size(type),
                     is_unsigned ? "unsigned " : "", class_name(type_class));
}

}  // namespace trireme::hdf5
