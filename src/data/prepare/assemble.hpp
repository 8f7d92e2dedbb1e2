#pragma once

#include <string>
#include <vector>

#include "trireme/data/token_file.hpp"

namespace trireme::data {

/// Joins parts into the dataset file info.path, which must not exist yet; counts and loss mask of `info` are filled in.
/// mask: a .npy of uint8, one a token, or empty. Memory: one part. Throws InputError.
void assemble(const std::vector<std::string>& parts, const std::string& mask, TokenFileInfo& info);

}  // namespace trireme::data
