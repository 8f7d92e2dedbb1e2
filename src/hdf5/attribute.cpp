#include "hdf5/attribute.hpp"

#include <limits>

#include <fmt/format.h>

#include "hdf5/datatype.hpp"
#include "hdf5/library.hpp"

namespace trireme::hdf5 {
namespace {

constexpr std::size_t most_text_bytes = std::size_t{1} << 20;

std::string reading(const AttributeName& attribute) {
  return fmt::format("read the attribute `{}` of {}", attribute.name, attribute.owner);
}

struct OpenAttribute {
  Handle id;
  Handle type;
};

/// A scalar attribute whose type is of the wanted class.
OpenAttribute open(const AttributeName& name, H5T_class_t wanted, const char* wanted_name) {
  if (H5Aexists(name.object, name.name.c_str()) <= 0) {
    throw InputError(fmt::format("{} has no attribute `{}`", name.owner, name.name));
  }
  Handle id(check_id<InputError>(H5Aopen(name.object, name.name.c_str(), H5P_DEFAULT), reading(name)), H5Aclose);
  Handle type(check_id<InputError>(H5Aget_type(id.get()), reading(name)), H5Tclose);
  const Handle space(check_id<InputError>(H5Aget_space(id.get()), reading(name)), H5Sclose);
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  if (H5Tget_class(type.get()) != wanted || elements != 1) {
    throw InputError(fmt::format("the attribute `{}` of {} has the type {} and {} elements (wanted one {})", name.name,
                                 name.owner, describe_type(type.get()), elements, wanted_name));
  }
  return {std::move(id), std::move(type)};
}

/// Strings of other programs often have variable length.
std::string read_variable_text(const AttributeName& name, const OpenAttribute& attribute) {
  char* text = nullptr;
  check<InputError>(H5Aread(attribute.id.get(), attribute.type.get(), static_cast<void*>(&text)), reading(name));
  std::string value = text != nullptr ? text : "";
  H5free_memory(text);
  return value;
}

}  // namespace

std::string read_text(const AttributeName& name) {
  const OpenAttribute attribute = open(name, H5T_STRING, "string");
  if (H5Tis_variable_str(attribute.type.get()) > 0) {
    return read_variable_text(name, attribute);
  }
  const std::size_t bytes = H5Tget_size(attribute.type.get());
  if (bytes > most_text_bytes) {
    throw InputError(fmt::format("cannot {} ({} bytes, at most {} are read)", reading(name), bytes, most_text_bytes));
  }
  std::string value(bytes, '\0');
  check<InputError>(H5Aread(attribute.id.get(), attribute.type.get(), value.data()), reading(name));
  value.erase(value.find_last_not_of('\0') + 1);
  return value;
}

std::int64_t read_integer(const AttributeName& name) {
  const OpenAttribute attribute = open(name, H5T_INTEGER, "integer");
  // The library would clip a large unsigned number, silently.
  if (H5Tget_sign(attribute.type.get()) == H5T_SGN_NONE) {
    std::uint64_t value = 0;
    check<InputError>(H5Aread(attribute.id.get(), H5T_NATIVE_UINT64, &value), reading(name));
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw InputError(fmt::format("cannot {} ({} is too large)", reading(name), value));
    }
    return static_cast<std::int64_t>(value);
  }
  std::int64_t value = 0;
  check<InputError>(H5Aread(attribute.id.get(), H5T_NATIVE_INT64, &value), reading(name));
  return value;
}

double read_real(const AttributeName& name) {
  const OpenAttribute attribute = open(name, H5T_FLOAT, "float");
  double value = 0;
  check<InputError>(H5Aread(attribute.id.get(), H5T_NATIVE_DOUBLE, &value), reading(name));
  return value;
}

}  // namespace trireme::hdf5
