#include "checkpoint/table.hpp"

#include <array>
#include <charconv>
#include <system_error>

#include <fmt/core.h>

#include "trireme/base/error.hpp"

namespace trireme::checkpoint {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class T>
T to_number(std::string_view text, int base = 10) {
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || stop != text.data() + text.size()) {
    throw InputError(fmt::format("`{}` is not a number", text));
  }
  return value;
}

}  // namespace

void for_each_row(const std::string& table, std::string_view table_name, std::size_t num_columns,
                  const std::function<void(const std::vector<std::string_view>&)>& row) {
  std::string_view rest = table;
  for (std::int64_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    try {
      if (end == std::string_view::npos) throw InputError("the line is cut");
      const std::vector<std::string_view> columns = split(rest.substr(0, end), '\t');
      if (columns.size() != num_columns) {
        throw InputError(fmt::format("{} columns instead of {}", columns.size(), num_columns));
      }
      row(columns);
    } catch (const InputError& error) {
      throw InputError(fmt::format("table `{}`, line {}: {}", table_name, line, error.what()));
    }
    rest.remove_prefix(end + 1);
  }
}

std::int64_t to_integer(std::string_view text) {
  return to_number<std::int64_t>(text);
}

std::uint64_t to_unsigned(std::string_view text) {
  return to_number<std::uint64_t>(text);
}

tensor::Shape to_shape(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ' ');
  if (parts.size() > static_cast<std::size_t>(tensor::Shape::max_dims)) {
    throw InputError(fmt::format("`{}` has more than {} dimensions", text, tensor::Shape::max_dims));
  }
  std::array<std::int64_t, tensor::Shape::max_dims> numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) numbers[i] = to_integer(parts[i]);
  switch (parts.size()) {
    case 1:
      return {numbers[0]};
    case 2:
      return {numbers[0], numbers[1]};
    case 3:
      return {numbers[0], numbers[1], numbers[2]};
    default:
      return {numbers[0], numbers[1], numbers[2], numbers[3]};
  }
}

Dtype to_dtype(std::string_view text) {
  for (const Dtype dtype :
       {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::i32, Dtype::i64, Dtype::u8, Dtype::u16, Dtype::u64}) {
    if (name_of(dtype) == text) return dtype;
  }
  throw InputError(fmt::format("`{}` is not an element type", text));
}

io::Hash128 to_hash(std::string_view text) {
  constexpr std::size_t half = 16;
  if (text.size() != 2 * half) throw InputError(fmt::format("`{}` is not a hash", text));
  return {.low = to_number<std::uint64_t>(text.substr(half), 16),
          .high = to_number<std::uint64_t>(text.substr(0, half), 16)};
}

std::string column_of(const tensor::Shape& shape) {
  std::string text;
  for (int dim = 0; dim < shape.num_dims(); ++dim) text += fmt::format("{}{}", dim == 0 ? "" : " ", shape[dim]);
  return text;
}

std::string column_of(const io::Hash128& hash) {
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

}  // namespace trireme::checkpoint
