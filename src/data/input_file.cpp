#include "data/input_file.hpp"

#include <string_view>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

namespace trireme::data {

io::File open_input(const std::string& path) {
  if (!io::exists(path))
    throw InputError(fmt::format("`{}` does not exist (nothing stands at this path) check the path", path));
  if (io::is_folder(path))
    throw InputError(fmt::format("`{}` is a folder (a file is meant) name the files in it", path));
  try {
    return io::File(path, io::File::Mode::read);
  } catch (const SystemError& error) {
    throw InputError(fmt::format("`{}` cannot be read ({})", path, error.what()));
  }
}

bool is_trireme_file(const io::File& file) {
  constexpr std::string_view magic = "TRIREME\x1a";
  std::string start(magic.size(), '\0');
  if (file.size() < start.size()) return false;
  file.read_at(0, start.data(), start.size());
  return start == magic;
}

}  // namespace trireme::data
