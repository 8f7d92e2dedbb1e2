#pragma once

#include <string>

#include "trireme/io/file.hpp"

namespace trireme::data {

/// Opens a file that the user named. Throws InputError when it does not exist, is a folder or cannot be read.
[[nodiscard]] io::File open_input(const std::string& path);

/// True if the file begins with the magic bytes of files written by hdf5::Writer.
[[nodiscard]] bool is_trireme_file(const io::File& file);

}  // namespace trireme::data
