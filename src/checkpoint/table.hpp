// The text tables of index.h5: one line a row, tabs between columns, spaces inside a column of several numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/base/dtype.hpp"
#include "trireme/io/hash.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::checkpoint {

/// Calls `row` with the columns of each line. What it throws is thrown on as InputError that names table and line, and
/// so is a line of another number of columns.
void for_each_row(const std::string& table, std::string_view table_name, std::size_t num_columns,
                  const std::function<void(const std::vector<std::string_view>&)>& row);

/// The readers of a column throw InputError quoting what they cannot read.
[[nodiscard]] std::int64_t to_integer(std::string_view text);
[[nodiscard]] std::uint64_t to_unsigned(std::string_view text);
[[nodiscard]] tensor::Shape to_shape(std::string_view text);
[[nodiscard]] Dtype to_dtype(std::string_view text);
[[nodiscard]] io::Hash128 to_hash(std::string_view text);

/// `768 3072`
[[nodiscard]] std::string column_of(const tensor::Shape& shape);
/// 32 hexadecimal digits, the high half first.
[[nodiscard]] std::string column_of(const io::Hash128& hash);

}  // namespace trireme::checkpoint
