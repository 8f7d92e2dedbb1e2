#pragma once

#include <string>

#include "trireme/data/prepare.hpp"

namespace trireme::data {

/// Throws InputError with all that is wrong with the options, before any input is read.
void check(const PrepareOptions& options);

/// The folder in which `path` lies.
[[nodiscard]] std::string parent_folder(const std::string& path);

}  // namespace trireme::data
