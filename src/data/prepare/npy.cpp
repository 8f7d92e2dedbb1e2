// NumPy's format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "data/input_file.hpp"
#include "data/prepare/ids_input.hpp"

namespace trireme::data {
namespace {

struct NpyHeader {
  std::string dictionary;
  std::uint64_t data_offset = 0;
};

[[noreturn]] void refuse(const io::File& file, const std::string& what) {
  throw InputError(
      fmt::format("`{}` {} save a 1-D array of little-endian integers with `numpy.save`", file.path(), what));
}

NpyHeader read_header(const io::File& file) {
  constexpr std::string_view magic = "\x93NUMPY";
  std::array<unsigned char, 12> start{};
  if (file.size() < start.size()) refuse(file, fmt::format("is no .npy file (it has {} bytes)", file.size()));
  file.read_at(0, start.data(), start.size());
  if (std::string_view(reinterpret_cast<const char*>(start.data()), magic.size()) != magic) {
    refuse(file, "is no .npy file (it does not begin with `\\x93NUMPY`)");
  }
  const unsigned version = start[6];
  if (version < 1 || version > 3) refuse(file, fmt::format("is a .npy file of version {} (known are 1 to 3)", version));
  std::uint64_t length = start[8] + 256U * start[9];
  if (version > 1) length += (std::uint64_t{start[10]} << 16) + (std::uint64_t{start[11]} << 24);
  const std::uint64_t offset = version == 1 ? 10 : 12;
  if (length > file.size() - offset) {
    refuse(file, fmt::format("ends inside of its header (of {} bytes, the file has {})", length, file.size()));
  }
  NpyHeader header{std::string(length, '\0'), offset + length};
  file.read_at(offset, header.dictionary.data(), length);
  return header;
}

/// What stands after `'key':` in the header's dictionary, up to `end`.
std::string_view value_of(const io::File& file, std::string_view dictionary, std::string_view key, char end) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t at = dictionary.find(quoted);
  const std::size_t begin = at == std::string_view::npos ? at : dictionary.find_first_not_of(' ', at + quoted.size());
  const std::size_t last = begin == std::string_view::npos ? begin : dictionary.find(end, begin + 1);
  if (last == std::string_view::npos) refuse(file, fmt::format("has a strange header (no `{}` in it)", key));
  return dictionary.substr(begin, last - begin);
}

IdType parse_type(const io::File& file, std::string_view text) {
  static const std::map<std::string_view, IdType> types{
      {"'|u1", {1, false}}, {"'<u2", {2, false}}, {"'<u4", {4, false}}, {"'<i4", {4, true}}, {"'<i8", {8, true}}};
  const auto found = types.find(text);
  if (found == types.end()) {
    refuse(file, fmt::format("holds `{}` (legal are uint8, uint16, uint32, int32 and int64)", text.substr(1)));
  }
  return found->second;
}

/// The count in `(123,`.
std::int64_t parse_shape(const io::File& file, std::string_view text) {
  std::int64_t count = -1;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), count);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || count < 0 || text.front() != '(' ||
      rest.find_first_not_of(", ") != std::string_view::npos) {
    refuse(file, fmt::format("has the shape `{})` (must be 1-D)", text));
  }
  return count;
}

class NpyInput final : public IdsInput {
 public:
  explicit NpyInput(io::File file) : file_(std::move(file)) {
    const NpyHeader header = read_header(file_);
    type_ = parse_type(file_, value_of(file_, header.dictionary, "descr", '\''));
    count_ = parse_shape(file_, value_of(file_, header.dictionary, "shape", ')'));
    offset_ = header.data_offset;
    const std::uint64_t has = file_.size() - offset_;
    if (has / static_cast<std::uint64_t>(type_.bytes) < static_cast<std::uint64_t>(count_)) {
      refuse(file_, fmt::format("is cut short (its header says {} numbers of {} bytes, {} bytes follow)", count_,
                                type_.bytes, has));
    }
  }

  [[nodiscard]] const std::string& path() const override { return file_.path(); }
  [[nodiscard]] IdType type() const override { return type_; }
  [[nodiscard]] std::int64_t num_ids() const override { return count_; }

  [[nodiscard]] std::string read(Range range) const override {
    std::string bytes(static_cast<std::size_t>((range.end - range.begin) * type_.bytes), '\0');
    file_.read_at(offset_ + static_cast<std::uint64_t>(range.begin * type_.bytes), bytes.data(), bytes.size());
    return bytes;
  }

  [[nodiscard]] std::vector<std::int64_t> document_starts(Range range) const override {
    if (range.begin == 0 && range.end > 0) return {0};
    return {};
  }

 private:
  io::File file_;
  IdType type_;
  std::int64_t count_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace

std::unique_ptr<IdsInput> open_npy(const std::string& path) {
  return std::make_unique<NpyInput>(open_input(path));
}

}  // namespace trireme::data
